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
// and are copied to the GPU and back. Calls are not validated: what does not match waits for
// `options.timeout`. What the ranks put out is recorded here.
// Where GANGSIM_SHARE_GPUS is 1 in the environment and there are fewer GPUs than ranks, several
// ranks use one: over loopback sockets, as if each were a node.
// Throws NotSupported where NCCL cannot run here, or there are fewer GPUs than ranks.
sim::Report run_on_nccl(const Launch& launch);

// Of one process of a job: a root gang over NCCL for programs of any backend, meeting in `store`
// under `key`, which is no other gang's. The GPU is the one of its local rank; several processes
// share one where GANGSIM_SHARE_GPUS is 1, as above.
struct NcclJobGang {
  const Environment& environment;
  std::shared_ptr<Store> store;
  std::shared_ptr<Runtime> runtime;
  Duration timeout = default_timeout;
  std::string key = "root";
};
std::shared_ptr<Gang> make_nccl_job_gang(const NcclJobGang& job);

}  // namespace gang::harness
