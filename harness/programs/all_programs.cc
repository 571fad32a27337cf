#include "harness/programs/all_programs.h"

namespace gang::harness {

std::vector<Program> all_programs() {
  return {all_reduce_program(), mesh_program(), ring_program()};
}

}  // namespace gang::harness
