#include "gang/nccl/nccl_gang.h"

namespace gang {

BackendAvailability nccl_availability() {
  return {false, "nccl is not built into this version; accepted are fake and simulated gangs"};
}

std::shared_ptr<Gang> make_nccl_root_gang(const Environment& environment, const RootGangOptions&) {
  throw NotSupported("a gang of " + std::to_string(environment.world_size) +
                     " processes on cuda needs nccl: " + nccl_availability().reason);
}

}  // namespace gang
