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
class Guide;
class NcclGpu;
struct Task;

// A first-in, first-out queue of kernels and of actions that take no time.
class GpuStream final : public NcclStream {
 public:
  struct Item {
    std::shared_ptr<NcclKernel> kernel;  // null for an action
    std::function<void()> action;
  };

  explicit GpuStream(NcclGpu& gpu);
  ~GpuStream() override;

  std::deque<Item> items;
  std::uint64_t last_step_key = 0;  // of the last kernel launched here; 0: none
  CallSite last_call_site;          // the same; noted where a Guide is told

 private:
  NcclGpu& gpu_;
};

class GpuEvent final : public NcclEvent {
 public:
  bool is_pending = false;
  const GpuStream* stream = nullptr;  // while pending, where it was recorded
  std::uint64_t after = 0;            // the step key of the kernel that it was recorded behind
  CallSite call_site;                 // the same
};

// The device of one rank. If the launch order decides, kernels start as soon as they can. If the
// schedule decides, they start one by one while the host waits for something that has not ended, or
// once no host can go on: any order in which they could start is one of choices among those that
// are ready then, since the host runs ahead of its device, which goes on by itself.
//
// Threads: under the engine's Guard.
class NcclGpu {
 public:
  NcclGpu(World& world, const NcclModel& model, int rank);

  int rank() const noexcept { return rank_; }

  // The rank whose process launches here: the device's own, unless another has opened it.
  int driver() const noexcept { return driver_; }
  void set_driver(int rank) noexcept { driver_ = rank; }

  const NcclModel& model() const noexcept { return model_; }

  void launch(GpuStream& stream, std::shared_ptr<NcclKernel> kernel);
  void act(GpuStream& stream, std::function<void()> action);
  void record(GpuStream& stream, GpuEvent& event);

  // Runs everything runnable here and, if kernels complete, on their partners' devices; where the
  // schedule decides, starts one kernel. Whether it chose among several: an exploration then needs
  // another choice of who goes on.
  bool settle();

  // The kernels that could start next, in launch order.
  std::vector<NcclKernel*> ready() const;

  // Where the schedule decides: starts a ready kernel.
  void start(NcclKernel& kernel);

  // Numbers the picks that this device, or a host that looks at it, makes.
  std::uint64_t next_pick() noexcept { return ++picks_; }

  // Whether all streams are empty.
  bool is_idle() const noexcept;

  // Ends this member's kernels on `clique`, running or queued.
  void end_kernels(const NcclClique& clique);

  // Discards all streams because the process ends.
  void die();

  // Retires completed kernels, on any devices.
  static void retire_all(const std::vector<NcclKernel*>& complete);

  // A running or queued kernel that prevents `event` from completing, or the device from becoming
  // idle; null if there is none.
  const NcclKernel* blocker_of(const GpuEvent& event) const;
  const NcclKernel* blocker() const;

  // The kernels for which a queued one waits on this device: running ones, or one ahead of it.
  std::vector<const NcclKernel*> ahead_of(const NcclKernel& kernel) const;

  // All kernels, in launch order.
  std::vector<const NcclKernel*> kernels() const;

  // -- Waiting hosts ------------------------------------------------------------------------------

  void add_waiter(Task& task) { waiters_.push_back(&task); }
  void wake_waiters();

  // Records a change that hosts may observe.
  void note_change() {
    ++changes_;
    wake_waiters();
  }
  std::uint64_t changes() const noexcept { return changes_; }

 private:
  friend class GpuStream;

  void step(std::vector<NcclGpu*>& touched);
  bool settle_one();
  void run_actions();
  NcclKernel* next_kernel();
  void start(NcclKernel& kernel, std::vector<NcclGpu*>& touched);
  Guide* guide() const noexcept;
  void retire(NcclKernel& kernel);

  World& world_;
  const NcclModel model_;
  const int rank_;
  int driver_;
  std::vector<GpuStream*> streams_;
  std::vector<NcclKernel*> resident_;
  bool is_touched_ = false;  // queued in settle
  std::uint64_t launched_ = 0;
  std::uint64_t picks_ = 0;
  std::uint64_t last_retired_ = 0;  // the step key of that kernel; 0: none
  std::uint64_t changes_ = 0;
  std::vector<Task*> waiters_;
};

}  // namespace gang::sim
