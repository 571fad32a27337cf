// The programs built into gangsim.
#pragma once

#include <vector>

#include "harness/program/program.h"

namespace gang::harness {

// Each is defined in the file of its name.
Program all_reduce_program();
Program data_parallel_program();
Program data_parallel_step_program();
Program ddp_program();
Program every_collective_program();
Program fsdp_program();
Program hybrid_program();
Program mesh_program();
Program ring_program();
Program tp_program();
Program trainer_program();

// All of the above, by name.
std::vector<Program> all_programs();

// Not one of them: whether it is correct depends on the backend.
Program two_communicators_program();

}  // namespace gang::harness
