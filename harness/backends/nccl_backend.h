// The backend nccl: a process and a GPU per rank, made by this one.
#pragma once

#include <memory>

#include "gang/environment.h"
#include "gang/gang.h"
#include "gang/runtime.h"
#include "gang/store/store.h"
#include "harness/backends/backend.h"

namespace gang::harness {

// Runs the program on every rank in a process of its own, over NCCL; its tensors are on the host
// and are copied to the GPU and back. Calls are not validated: mismatched calls wait for
// `options.timeout`. Records the ranks' outputs in this process.
// If GANGSIM_SHARE_GPUS is 1 in the environment and there are fewer GPUs than ranks, several ranks
// share one, over loopback sockets, as if each were a node.
// Throws NotSupported if NCCL cannot run here, or if there are fewer GPUs than ranks.
sim::Report run_on_nccl(const Launch& launch);

// For one process of a job: a root gang over NCCL for programs of any backend, which meets in
// `store` under `key`, which no other gang uses. The GPU is that of its local rank; several
// processes share one if GANGSIM_SHARE_GPUS is 1, as above.
struct NcclJobGang {
  const Environment& environment;
  std::shared_ptr<Store> store;
  std::shared_ptr<Runtime> runtime;
  Duration timeout = default_timeout;
  std::string key = "root";
};
std::shared_ptr<Gang> make_nccl_job_gang(const NcclJobGang& job);

}  // namespace gang::harness
