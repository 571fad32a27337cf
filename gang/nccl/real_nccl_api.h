// NCCL and CUDA of this machine, if they are built in.
#pragma once

#include <memory>

#include "gang/nccl/nccl_api.h"
#include "gang/root_gang.h"
#include "gang/runtime.h"

namespace gang {

// How many GPUs this process sees; 0 if NCCL cannot run here. Unlike nccl_availability, it uses
// CUDA, after which a process cannot fork.
int gpu_count();

// The first call loads the libraries. Throws NotSupported if NCCL is not built in, if a library, a
// driver or a GPU is missing, or if there is no GPU with that index; it says what was found and
// what is needed. Sets NCCL_LAUNCH_ORDER_IMPLICIT to 1 unless the variable is already set.
std::shared_ptr<NcclApi> make_real_nccl_api(int device_index, std::shared_ptr<Runtime> runtime);

}  // namespace gang
