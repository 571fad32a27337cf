// NCCL and CUDA of one simulated rank.
#pragma once

#include <memory>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "sim/backends/nccl/nccl_assembly.h"
#include "sim/backends/nccl/nccl_gpu.h"
#include "sim/backends/nccl/nccl_host_wait.h"
#include "sim/engine/engine.h"

namespace gang::sim {

class SimulatedNccl;

// One rank's handle of a communicator.
class SimulatedCommunicator final : public NcclCommunicator {
 public:
  // The rank's part in an assembly, until it completes.
  struct Joining {
    std::shared_ptr<NcclAssembly> assembly;
    int place = 0;
    NcclSplit split;
    bool has_joined = false;
    NcclPurpose purpose;
    const char* what = "";
  };

  std::shared_ptr<NcclClique> clique;  // null until assembled
  int member = 0;
  std::optional<Joining> joining;
  bool is_revoked = false;
};

// Enforces the rules that programs can break: streams run in order, and hosts run ahead of them; a
// kernel occupies the device until its partners have started; creating and freeing a communicator
// waits until the device is idle; concurrent launches from two threads are InvalidUsage; the loss
// of a peer goes unnoticed unless links are sockets. Device memory is host memory. Device work
// takes no virtual time. Source: NCCL 2.28.9, user guide; NCCL_LAUNCH_RACE_FATAL=1, its default.
class SimulatedNcclApi final : public NcclApi {
 public:
  SimulatedNcclApi(SimulatedNccl& nccl, NcclGpu& gpu);

  Device device() const noexcept override { return {DeviceType::cuda, 0}; }

  NcclId make_id() override;
  std::unique_ptr<NcclCommunicator> init(const NcclMembership& membership,
                                         const NcclPurpose& purpose) override;
  std::unique_ptr<NcclCommunicator> split(NcclCommunicator& parent, const NcclSplit& split,
                                          const NcclPurpose& purpose) override;
  std::unique_ptr<NcclCommunicator> shrink(NcclCommunicator& parent, std::span<const int> excluded,
                                           NcclShrink mode, const NcclPurpose& purpose) override;
  NcclStatus state(NcclCommunicator& communicator) override;
  NcclStatus await_ready(NcclCommunicator& communicator, TimePoint deadline) override;
  void revoke(std::span<NcclCommunicator* const> communicators) noexcept override;
  void destroy(std::unique_ptr<NcclCommunicator> communicator) noexcept override;

  void begin_group() override;
  void end_group() override;
  void launch(NcclCommunicator& communicator, NcclStream& stream, const NcclLaunch& launch,
              const NcclPurpose& purpose) override;

  std::unique_ptr<NcclStream> make_stream(StreamPriority priority) override;
  std::unique_ptr<NcclEvent> make_event() override;
  void record(NcclEvent& event, NcclStream& stream) override;
  bool is_done(NcclEvent& event) override;
  void copy(NcclStream& stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  void call(NcclStream& stream, std::function<void()> function) override;
  std::uint64_t changes() override;
  NcclWake wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                    std::uint64_t changes_seen) override;
  void interrupt() noexcept override;
  std::unique_ptr<NcclBuffer> allocate(NcclMemory memory, std::size_t bytes) override;

 private:
  struct Collected {
    SimulatedCommunicator* communicator;
    GpuStream* stream;
    std::shared_ptr<NcclKernel> kernel;
  };

  Engine& engine() const noexcept;
  void let_others_go_first();
  bool start_ready();
  void check_launcher();
  bool advance(SimulatedCommunicator& communicator);
  void start(GpuStream& stream, const std::shared_ptr<NcclKernel>& kernel);
  void block_on_device(NcclHostWait& awaited, TimePoint deadline);

  SimulatedNccl& nccl_;
  NcclGpu& gpu_;
  const Task* launcher_ = nullptr;  // the context with an open group
  std::vector<Collected> group_;
};

}  // namespace gang::sim
