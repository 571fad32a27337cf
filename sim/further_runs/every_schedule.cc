#include "sim/further_runs/every_schedule.h"

#include <memory>
#include <utility>

namespace gang::sim {

EverySchedule run_every_schedule(const SimulationOptions& options, const RunAgain& again,
                                 const ScheduleRan& ran) {
  using End = EverySchedule::End;
  SimulationOptions guided = options;
  guided.scheduler = SchedulerKind::guided;
  guided.guide = std::make_shared<Guide>();
  Reduction reduction;
  EverySchedule seen;
  while (std::optional<Beginning> beginning = reduction.next()) {
    guided.guide->begin(*std::move(beginning), reduction.known());
    const Report report = again(guided);
    reduction.learn(*guided.guide);
    if (!report.is_guided && report.schedules != Schedules::every) seen.end = End::unguided;
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
