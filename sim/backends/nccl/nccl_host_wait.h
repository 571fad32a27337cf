// Describes a host's wait in a simulated NCCL world, for reports and the wait-for graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "sim/backends/nccl/nccl_assembly.h"
#include "sim/backends/nccl/nccl_gpu.h"
#include "sim/state/awaited_message.h"

namespace gang::sim {

class SimulatedNccl;

// Lives on the stack of the blocked function.
class NcclHostWait final : public AwaitedMessage {
 public:
  enum class Reason : std::uint8_t {
    events,    // until one of several on the device completes
    idle,      // until the device is idle: implicit synchronization
    launch,    // until its own launch has run
    assembly,  // until the others join a new communicator
    meeting,   // until the others join a meeting of hosts
  };

  Reason reason = Reason::events;
  SimulatedNccl* nccl = nullptr;  // maps devices to drivers; null: each rank its own
  const NcclGpu* gpu = nullptr;   // events, idle and launch
  std::vector<const GpuEvent*> events = {};
  const NcclKernel* launched = nullptr;  // launch
  const NcclAssembly* assembly = nullptr;
  std::function<std::vector<int>()> missing = {};  // meeting: absent root ranks
  const NcclPurpose* purpose = nullptr;            // of the call; null: that of the awaited kernel
  const char* what = "";                           // "ncclCommSplit"

  // The awaited kernels on the host's own device.
  std::vector<const NcclKernel*> kernels() const;

  // AwaitedMessage
  std::vector<int> awaited_ranks() const override;
  bool takes_any() const override { return events.size() > 1; }
  const Collective* call() const override;
  const GangInfo* gang() const override;
  std::string describe() const override;

 private:
  const NcclPurpose* purpose_here() const;
};

// The root ranks whose kernels `kernel` waits for, ascending. Ignores its device's queue.
std::vector<int> ranks_awaited_by(const NcclKernel& kernel);

}  // namespace gang::sim
