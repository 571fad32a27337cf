// The wait-for graph of the kernels and hosts of a simulated NCCL world.
#pragma once

#include <map>
#include <vector>

#include "sim/backends/nccl/nccl_host_wait.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/verdict/blocked_world.h"

namespace gang::sim {

// A queued or running kernel or, if `kernel` is null, the host program of a rank.
struct NcclWaiter {
  const NcclKernel* kernel = nullptr;
  int rank = 0;  // of the kernel's device, or of the host's process

  friend auto operator==(const NcclWaiter& a, const NcclWaiter& b) {
    return a.kernel == b.kernel && a.rank == b.rank;
  }
};

// A snapshot of the waits at a deadlock, valid while nothing runs.
class NcclWaitChain {
 public:
  NcclWaitChain(SimulatedNccl& nccl, const BlockedWorld& blocked);

  // What `waiter` waits for. A running kernel waits for its partners' kernels or, if they have
  // launched none, for their hosts; a queued one for the kernels ahead of it on its device.
  std::vector<NcclWaiter> awaited_by(const NcclWaiter& waiter) const;

  // What the rank's dead contexts wait for; empty if it has none.
  std::vector<const NcclHostWait*> waits_of(int rank) const;

  // The ranks whose processes drive the devices of `ranks`, and the ranks whose devices the process
  // of `host` drives; both ascending.
  std::vector<int> hosts_of(const std::vector<int>& ranks) const;
  std::vector<int> devices_of(int host) const;

  // The first dead context of the rank that waits for NCCL; null if there is none.
  const Task* context_of(int rank) const;

  // A cycle reachable from a dead context, in which each element waits for the next; empty if there
  // is none.
  std::vector<NcclWaiter> find_cycle() const;

  // The kernels reachable from dead contexts, by rank and launch order.
  std::vector<const NcclKernel*> kernels() const;

 private:
  const NcclKernel* partner_of(const NcclKernel& kernel, int member) const;

  SimulatedNccl& nccl_;
  std::map<int, std::vector<const Task*>> dead_;  // by rank
};

}  // namespace gang::sim
