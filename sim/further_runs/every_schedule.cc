#include "sim/further_runs/every_schedule.h"

#include <memory>
#include <utility>

namespace gang::sim {

namespace {

SimulationOptions guided_run(const SimulationOptions& options) {
  SimulationOptions guided = another_run(options);
  guided.scheduler = SchedulerKind::guided;
  guided.guide = std::make_shared<Guide>();
  return guided;
}

// Whether the guide was told of all that could have come otherwise.
bool is_told_all(const Report& report, const Guide& guide) {
  return report.schedules == Schedules::every || (report.is_guided && !guide.log().is_incomplete);
}

}  // namespace

std::uint64_t count_contests(const SimulationOptions& options, const RunAgain& again) {
  if (options.world_size > most_explored_ranks) return 0;
  const SimulationOptions guided = guided_run(options);
  Reduction reduction;
  guided.guide->begin(reduction.next().value(), reduction.known());
  const Report report = again(guided);
  reduction.learn(*guided.guide);
  return is_told_all(report, *guided.guide) ? reduction.contests() : 0;
}

EverySchedule run_every_schedule(const SimulationOptions& options, const RunAgain& again,
                                 const ScheduleRan& ran) {
  using End = EverySchedule::End;
  const SimulationOptions guided = guided_run(options);
  Reduction reduction;
  EverySchedule seen;
  if (options.world_size > most_explored_ranks) {
    // One run may be enough: nothing in it could have come otherwise.
    const Report report = again(another_run(options));
    ++seen.classes;
    const bool goes_on = ran(report, std::nullopt);
    seen.end = report.schedules == Schedules::every ? End::all_seen
               : goes_on                            ? End::too_large
                                                    : End::stopped;
    return seen;
  }
  while (std::optional<Beginning> beginning = reduction.next()) {
    guided.guide->begin(*std::move(beginning), reduction.known());
    const Report report = again(guided);
    reduction.learn(*guided.guide);
    if (!is_told_all(report, *guided.guide)) seen.end = End::unguided;
    if (guided.guide->is_cut()) {
      if (seen.end == End::unguided) break;
      continue;
    }
    if (reduction.has_diverged() || reduction.is_too_large()) break;
    if (!ran(report, reduction.decisive())) seen.end = End::stopped;
    if (seen.end != End::all_seen) break;
  }
  seen.decisive = reduction.decisive();
  if (seen.end == End::stopped && seen.decisive) {
    guided.guide->begin({.choices = reduction.undecided()}, reduction.known());
    seen.holds_otherwise = again(guided).holds();
  }
  seen.classes = reduction.classes();
  seen.cut = reduction.cut();
  seen.contests = reduction.contests();
  seen.restarts = reduction.restarts();
  if (reduction.has_diverged()) seen.end = End::diverged;
  if (reduction.is_too_large()) seen.end = End::too_large;
  return seen;
}

}  // namespace gang::sim
