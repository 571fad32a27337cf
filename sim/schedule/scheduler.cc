#include "sim/schedule/scheduler.h"

#include "sim/options/simulation_options.h"

namespace gang::sim {

std::unique_ptr<Scheduler> make_scheduler(const SimulationOptions& options) {
  switch (options.scheduler) {
    case SchedulerKind::random:
      return make_random_scheduler(options.seed);
    case SchedulerKind::replay:
      return make_replay_scheduler(options.replay.value_or(Schedule{}));
    case SchedulerKind::round_robin:
      break;
  }
  return make_round_robin_scheduler(options.seed);
}

}  // namespace gang::sim
