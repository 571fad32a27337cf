#include "sim/schedule/replay_scheduler.h"

#include <fmt/format.h>

#include "sim/schedule/scheduler.h"

namespace gang::sim {
namespace {

class ReplayScheduler final : public Scheduler {
 public:
  explicit ReplayScheduler(Schedule schedule) noexcept : schedule_(std::move(schedule)) {}

  void begin_run(int) override { step_ = draw_ = 0; }

  TaskId next_rank(const RunnableSet& runnable, TaskId) override {
    if (step_ == schedule_.choices.size())
      throw ScheduleDivergence(
          fmt::format("step {}: the schedule has ended; here is a choice among {} contexts", step_,
                      runnable.size()));
    const Choice& choice = schedule_.choices[step_];
    if (choice.runnable != runnable.size())
      throw ScheduleDivergence(
          fmt::format("step {}: recorded was a choice among {} contexts; found are {}", step_,
                      choice.runnable, runnable.size()));
    if (!runnable.contains(choice.task))
      throw ScheduleDivergence(fmt::format(
          "step {}: recorded was context {}, which cannot run here", step_, choice.task));
    ++step_;
    return choice.task;
  }

  std::uint64_t next_u64() override {
    if (draw_ == schedule_.draws.size())
      throw ScheduleDivergence(
          fmt::format("random draw {}: the schedule has no more of them", draw_));
    return schedule_.draws[draw_++];
  }

  SwitchPoints switch_points() const noexcept override { return schedule_.switch_points; }

 private:
  Schedule schedule_;
  std::size_t step_ = 0;
  std::size_t draw_ = 0;
};

}  // namespace

std::unique_ptr<Scheduler> make_replay_scheduler(Schedule schedule) {
  return std::make_unique<ReplayScheduler>(std::move(schedule));
}

}  // namespace gang::sim
