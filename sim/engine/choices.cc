#include "sim/engine/choices.h"

#include <fmt/format.h>

#include "sim/contexts/invariant.h"
#include "sim/schedule/guide.h"
#include "sim/schedule/replay_scheduler.h"

namespace gang::sim {
namespace {

// As many vain tries in a row are explored in every order with what others do. More tries are a
// loop that probably has no end of its own.
constexpr std::uint64_t tries_at_once = 8;

std::unique_ptr<Scheduler> scheduler_for(const SimulationOptions& options) {
  return make_scheduler(options.scheduler, options.seed, options.replay, options.guide);
}

}  // namespace

Choices::Choices(const SimulationOptions& options)
    : options_(options),
      scheduler_(scheduler_for(options)),
      asks_scheduler_(options.scheduler != SchedulerKind::round_robin),
      switches_everywhere_(scheduler_->switch_points() != SwitchPoints::blocking_calls),
      looks_at_once_(scheduler_->switch_points() >= SwitchPoints::calls_and_looks),
      most_tries_at_once_(
          scheduler_->switch_points() == SwitchPoints::calls_and_tries ? tries_at_once : 0),
      is_recording_(options.schedule == Recording::on),
      is_guided_(options.scheduler == SchedulerKind::guided),
      guide_(options.guide.get()) {
  recorded_.switch_points = scheduler_->switch_points();
}

void Choices::begin_run(int world_size) {
  scheduler_->begin_run(world_size);
  if (guide_ != nullptr && !is_guided_) guide_->begin_run(world_size);
}

bool Choices::goes_on(TaskId current) const { return is_guided_ && guide_->goes_on(current); }

TaskId Choices::ask(const RunnableSet& runnable, TaskId after) {
  try {
    // Explorations ask at every step: without a virtual call.
    const TaskId chosen =
        is_guided_ ? guide_->choose(runnable, after) : scheduler_->next_rank(runnable, after);
    ++asked_;
    GANGSIM_INVARIANT(runnable.contains(chosen), "a scheduler chose a blocked context");
    return chosen;
  } catch (const ScheduleDivergence& divergence) {
    divergence_ = divergence.what();
    return no_task;
  }
}

std::size_t Choices::pick(std::span<const Access> ways) {
  note_guided_choice();
  const std::uint64_t drawn = is_guided_ ? guide_->pick(ways) : scheduler_->next_u64();
  if (is_recording_) recorded_.draws.push_back(drawn);
  return drawn % ways.size();
}

void Choices::check_replayed_to_the_end() {
  if (!options_.replay || asked_ == options_.replay->choices.size()) return;
  divergence_ = fmt::format("step {}: the run has ended, but the schedule has {} steps", asked_,
                            options_.replay->choices.size());
}

}  // namespace gang::sim
