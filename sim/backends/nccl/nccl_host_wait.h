// What a host waits for, in a simulated world of NCCL: for reports and the wait-for graph.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "sim/backends/nccl/nccl_assembly.h"
#include "sim/backends/nccl/nccl_gpu.h"
#include "sim/state/awaited_message.h"

namespace gang::sim {

class SimulatedNccl;

// On the stack of the blocked function.
class NcclHostWait final : public AwaitedMessage {
 public:
  enum class Reason : std::uint8_t {
    events,    // one of several on the device
    idle,      // that the device has nothing to do: implicit synchronization
    launch,    // that what it has launched has run
    assembly,  // that the others come to a new communicator
    meeting,   // that the others come to a meeting of hosts
  };

  Reason reason = Reason::events;
  SimulatedNccl* nccl = nullptr;  // knows who drives which device; null: each rank its own
  const NcclGpu* gpu = nullptr;   // events, idle and launch
  std::vector<const GpuEvent*> events = {};
  const NcclKernel* launched = nullptr;  // launch
  const NcclAssembly* assembly = nullptr;
  std::function<std::vector<int>()> missing = {};  // meeting: root ranks of who has not come
  const NcclPurpose* purpose = nullptr;            // of the call; null: that of what is waited for
  const char* what = "";                           // "ncclCommSplit"

  // The kernels that it waits for, on the host's own device.
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

// Root ranks whose kernels `kernel` waits for, whatever is ahead of it on its device: ascending.
std::vector<int> ranks_awaited_by(const NcclKernel& kernel);

}  // namespace gang::sim
