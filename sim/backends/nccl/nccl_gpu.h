// A simulated device: streams that run in order, and kernels that occupy it until they are done.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "sim/backends/nccl/nccl_clique.h"
#include "sim/options/nccl_model.h"

namespace gang::sim {

struct World;
class NcclGpu;
struct Task;

// Work of a stream, first in, first out: kernels, and actions that take no time.
class GpuStream final : public NcclStream {
 public:
  struct Item {
    std::shared_ptr<NcclKernel> kernel;  // null: an action
    std::function<void()> action;
  };

  explicit GpuStream(NcclGpu& gpu);
  ~GpuStream() override;

  std::deque<Item> items;

 private:
  NcclGpu& gpu_;
};

class GpuEvent final : public NcclEvent {
 public:
  bool is_pending = false;
  const GpuStream* stream = nullptr;  // where it was recorded, while it is pending
};

// The device of one rank. Kernels start at once where the order of launching decides, and when the
// host waits, or at its next launch, where the schedule does: hosts run ahead of their devices.
//
// Threads: under the engine's Guard.
class NcclGpu {
 public:
  NcclGpu(World& world, const NcclModel& model, int rank);

  int rank() const noexcept { return rank_; }

  // The rank whose process launches here: its own, unless another has opened the device.
  int driver() const noexcept { return driver_; }
  void set_driver(int rank) noexcept { driver_ = rank; }

  const NcclModel& model() const noexcept { return model_; }

  void launch(GpuStream& stream, std::shared_ptr<NcclKernel> kernel);
  void act(GpuStream& stream, std::function<void()> action);
  void record(GpuStream& stream, GpuEvent& event);

  // Runs what can run here and, where kernels complete, on the devices of their partners.
  void settle();

  // Whether nothing is on any stream.
  bool is_idle() const noexcept;

  // Ends the kernels of a member of a clique, running or not.
  void end_kernels(const NcclClique& clique);

  // The process ends, and with it all that is on its streams.
  void die();

  // These are complete, on whatever devices.
  static void retire_all(const std::vector<NcclKernel*>& complete);

  // A running or queued kernel that keeps `event`, or the device, from being done; null where
  // nothing does.
  const NcclKernel* blocker_of(const GpuEvent& event) const;
  const NcclKernel* blocker() const;

  // Those that a queued kernel waits for on this device: running ones, or one ahead of it.
  std::vector<const NcclKernel*> ahead_of(const NcclKernel& kernel) const;

  // All of them, in the order of launching.
  std::vector<const NcclKernel*> kernels() const;

  // -- Hosts that wait ----------------------------------------------------------------------------

  void add_waiter(Task& task) { waiters_.push_back(&task); }
  void wake_waiters();

  // Notes something that hosts look at.
  void note_change() {
    ++changes_;
    wake_waiters();
  }
  std::uint64_t changes() const noexcept { return changes_; }

 private:
  friend class GpuStream;

  void step(std::vector<NcclGpu*>& touched);
  bool run_actions();
  NcclKernel* next_kernel();
  void start(NcclKernel& kernel, std::vector<NcclGpu*>& touched);
  void retire(NcclKernel& kernel);

  World& world_;
  const NcclModel model_;
  const int rank_;
  int driver_;
  std::vector<GpuStream*> streams_;
  std::vector<NcclKernel*> resident_;
  bool is_touched_ = false;  // settle will come to it
  std::uint64_t launched_ = 0;
  std::uint64_t changes_ = 0;
  std::vector<Task*> waiters_;
};

}  // namespace gang::sim
