// NCCL and CUDA of this machine, where they are built in.
#pragma once

#include <memory>

#include "gang/nccl/nccl_api.h"
#include "gang/root_gang.h"
#include "gang/runtime.h"

namespace gang {

// How many GPUs this process sees. 0 where NCCL cannot run here. Uses CUDA, unlike
// nccl_availability: a process that has done so cannot be copied (fork).
int gpu_count();

// The libraries are loaded by the first who asks. Throws NotSupported where NCCL is not built in,
// where a library, a driver or a GPU is missing, or where there is no GPU of that index: it says
// what was found and what is needed. NCCL_LAUNCH_ORDER_IMPLICIT is set to 1 unless it is set.
std::shared_ptr<NcclApi> make_real_nccl_api(int device_index, std::shared_ptr<Runtime> runtime);

}  // namespace gang
