#include "harness/programs/all_programs.h"

namespace gang::harness {

std::vector<Program> all_programs() {
  return {all_reduce_program(),
          data_parallel_program(),
          data_parallel_step_program(),
          ddp_program(),
          every_collective_program(),
          fsdp_program(),
          hybrid_program(),
          mesh_program(),
          ring_program(),
          tp_program(),
          trainer_program()};
}

}  // namespace gang::harness
