// The main function of a user's own binary.
#pragma once

#include <vector>

#include "harness/program/program.h"

namespace gang::harness {

// Gives `programs` the whole command line: run, replay, list, mesh. Returns the exit status.
//
//   int main(int argc, char** argv) {
//     return gang::harness::main(argc, argv, {{"train", "one data-parallel step", train}});
//   }
int main(int argc, char** argv, std::vector<Program> programs);

}  // namespace gang::harness
