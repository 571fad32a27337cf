#include "sim/schedule/scheduler.h"

#include "sim/schedule/guide.h"

namespace gang::sim {

std::unique_ptr<Scheduler> make_scheduler(SchedulerKind kind, std::uint64_t seed,
                                          const std::optional<Schedule>& schedule,
                                          const std::shared_ptr<Guide>& guide) {
  switch (kind) {
    case SchedulerKind::random:
      return make_random_scheduler(seed);
    case SchedulerKind::replay:
      return make_replay_scheduler(schedule.value_or(Schedule{}));
    case SchedulerKind::guided:
      return make_guided_scheduler(*guide);
    case SchedulerKind::round_robin:
      break;
  }
  return make_round_robin_scheduler(seed);
}

}  // namespace gang::sim
