#include "gang/nccl/real_nccl_api.h"

namespace gang {

BackendAvailability nccl_availability() {
  return {
      false,
      "nccl is not built into this version (it needs the headers of CUDA and NCCL); use fake or "
      "simulated gangs"};
}

int gpu_count() { return 0; }

std::shared_ptr<NcclApi> make_real_nccl_api(int, std::shared_ptr<Runtime>) {
  throw NotSupported(nccl_availability().reason);
}

}  // namespace gang
