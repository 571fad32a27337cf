// Who waits for whom among the kernels and hosts of a simulated world of NCCL.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "sim/backends/nccl/nccl_host_wait.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/verdict/blocked_world.h"

namespace gang::sim {

// A kernel that is queued or runs, or, without one, the host program of a rank.
struct NcclWaiter {
  const NcclKernel* kernel = nullptr;
  int rank = 0;  // of the kernel's device, or of the host's process

  friend auto operator==(const NcclWaiter& a, const NcclWaiter& b) {
    return a.kernel == b.kernel && a.rank == b.rank;
  }
};

// The waits at a deadlock, as of its moment: valid while nothing runs.
class NcclWaitChain {
 public:
  NcclWaitChain(SimulatedNccl& nccl, const BlockedWorld& blocked);

  // What `waiter` waits for: of a running kernel, the kernels of its partners or, where these have
  // launched none, their hosts; of a queued one, those ahead of it on its device.
  std::vector<NcclWaiter> awaited_by(const NcclWaiter& waiter) const;

  // What the dead contexts of the rank wait for; empty where it has none.
  std::vector<const NcclHostWait*> waits_of(int rank) const;

  // The ranks whose processes drive the devices of `ranks`, and whose devices the process of `host`
  // drives: ascending.
  std::vector<int> hosts_of(const std::vector<int>& ranks) const;
  std::vector<int> devices_of(int host) const;

  // The first dead context of the rank that waits for NCCL; null if there is none.
  const Task* context_of(int rank) const;

  // A cycle that a dead context leads to, in order, each waiting for the next; empty where there is
  // none.
  std::vector<NcclWaiter> find_cycle() const;

  // Kernels that the dead contexts lead to, by rank and order of launching.
  std::vector<const NcclKernel*> kernels() const;

 private:
  const NcclKernel* partner_of(const NcclKernel& kernel, int member) const;

  SimulatedNccl& nccl_;
  std::map<int, std::vector<const Task*>> dead_;  // by rank
};

}  // namespace gang::sim
