#include <gangsim/harness.h>

#include "train.h"

int main(int argc, char** argv) {
  return gang::harness::main(argc, argv, {{"train", "one data-parallel step", train}});
}
