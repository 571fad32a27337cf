// Picks the context that runs next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/schedule/runnable_set.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

class Guide;

// An oracle with three methods. The engine asks it only where there is a choice; `runnable` is
// never empty and is ordered by id. Implementations keep their state between calls; one per run.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Before the first choice of a run.
  virtual void begin_run(int world_size) = 0;

  // The context to run next; must be in `runnable`. `current` ran last.
  virtual TaskId next_rank(const RunnableSet& runnable, TaskId current) = 0;

  // A random number that is part of the schedule.
  virtual std::uint64_t next_u64() = 0;

  // The points at which this scheduler may switch contexts.
  virtual SwitchPoints switch_points() const noexcept = 0;
};

std::unique_ptr<Scheduler> make_round_robin_scheduler(std::uint64_t seed);
std::unique_ptr<Scheduler> make_random_scheduler(std::uint64_t seed);
// Throws ScheduleDivergence (sim/replay_scheduler.h) from next_rank and next_u64.
std::unique_ptr<Scheduler> make_replay_scheduler(Schedule schedule);

// The one of that kind; `schedule` is what SchedulerKind::replay repeats, `guide` whom
// SchedulerKind::guided asks: required there, and outlives the scheduler.
std::unique_ptr<Scheduler> make_scheduler(SchedulerKind kind, std::uint64_t seed,
                                          const std::optional<Schedule>& schedule,
                                          const std::shared_ptr<Guide>& guide = {});

}  // namespace gang::sim
