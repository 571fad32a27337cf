#include "sim/further_runs/settled_run.h"

#include <algorithm>
#include <utility>

#include "sim/further_runs/contest_text.h"
#include "sim/further_runs/every_schedule.h"
#include "sim/further_runs/neighbouring_runs.h"
#include "sim/further_runs/settled_culprits.h"

namespace gang::sim {
namespace {

// The calls of `report`, of a run with `options`; null where nobody is to be blamed for them, or
// the run takes another course each time.
std::shared_ptr<const CallHistories> histories_of(const SimulationOptions& options,
                                                  const Report& report, const RunAgain& again) {
  const std::optional<SimulationOptions> recording = recording_options(options, report);
  if (!recording) return nullptr;
  if (report.histories != nullptr) return report.histories;
  const Report recorded = again(*recording);
  return is_same_run(report, recorded) ? recorded.histories : nullptr;
}

// Of runs whose neighbours are made: the first of these takes O(operations * ranks).
constexpr std::uint64_t most_operations = 20'000;
constexpr std::uint64_t most_operations_by_ranks = 4'000'000;

bool is_small(const SimulationOptions& options, const Report& report) noexcept {
  const std::uint64_t operations = report.counts.rank_operations;
  return operations <= most_operations &&
         operations * static_cast<std::uint64_t>(options.world_size) <= most_operations_by_ranks;
}

// What the program comes to with `options`, those of `first`, which holds: the first of a few
// schedules that end otherwise decides; none: they hold, all of them if that many are all.
Report explored(const SimulationOptions& options, Report first, const RunAgain& again) {
  constexpr std::uint64_t most_classes = 16;
  std::uint64_t classes = 0;
  std::optional<Report> failing;
  const EverySchedule seen = run_every_schedule(
      options, again,
      [&](const ExploredRun& ran) {
        if (!ran.report.holds()) failing = ran.report;
        return !failing && ++classes < most_classes;
      },
      1, [](const ExploredRun&) { return true; });  // which choice makes it fail is not asked
  if (failing) return *std::move(failing);
  if (seen.end == EverySchedule::End::all_seen) first.schedules = Schedules::every;
  return first;
}

// What becomes of a run that does not hold, or comes to other outputs.
std::string difference_of(const Report& report) {
  if (report.holds()) return "the outputs differ";
  return "the run ends with " + (report.findings.empty() ? std::string(to_string(report.outcome))
                                                         : report.findings.front().id);
}

void find_message_race(NeighbouringRuns& runs, Report& report,
                       const std::function<std::uint64_t()>& outputs) {
  const std::uint64_t usual = outputs ? outputs() : 0;
  if (!runs.first().holds()) return;
  while (const auto other = runs.next(decides_message)) {
    if (other->report.holds() && (!outputs || outputs() == usual)) continue;
    report.findings.push_back(message_race(other->contest, difference_of(other->report)));
    return;
  }
}

// How the run decides the choice without which it holds.
std::string find_decisive(NeighbouringRuns& runs, const Report& report) {
  if (runs.first().holds() || runs.first().outcome != report.outcome) return {};
  while (auto other = runs.next([](const Contest&) { return true; }))
    if (other->report.holds()) return to_text(reversed(std::move(other->contest)));
  return {};
}

}  // namespace

Report run_settled(const SimulationOptions& options, const RankProgram& program) {
  const RunAgain run = [&program](const SimulationOptions& chosen) {
    return Simulation(chosen).run(program);
  };
  Report report = run(options);
  settle_deadlock(options, report, run);
  settle_culprits(options, report, run);
  settle_faults(options, report, run);
  look_around(options, report, run);
  return report;
}

void settle_deadlock(const SimulationOptions& options, Report& report, const RunAgain& again) {
  const std::optional<SimulationOptions> settling = settling_options(options, report);
  if (!settling) return;
  Report without = again(*settling);
  const bool is_open = without.holds() && without.schedules != Schedules::every;
  if (is_open && can_be_guided(*settling) && is_small(*settling, without))
    without = explored(*settling, std::move(without), again);
  settle(report, without);
}

void settle_culprits(const SimulationOptions& options, Report& report, const RunAgain& again) {
  if (const auto histories = histories_of(options, report, again))
    settle_culprits(report, *histories);
}

void settle_faults(const SimulationOptions& options, Report& report, const RunAgain& again) {
  if (report.faults.empty()) return;
  const SimulationOptions without = without_faults(options);
  Report clean = again(without);
  settle_faults(report, clean);
  if (report.findings.empty()) return;
  if (const auto histories = histories_of(without, clean, again))
    settle_culprits(report, std::move(clean), *histories);
}

Surroundings look_around(const SimulationOptions& options, Report& report, const RunAgain& again,
                         Neighbours neighbours, const std::function<std::uint64_t()>& outputs) {
  const bool is_asked =
      neighbours == Neighbours::all || (neighbours == Neighbours::of_messages && report.holds());
  const Certainty* const certainty = certainty_of(report);
  const Schedules happens_in = certainty != nullptr ? certainty->schedules : report.schedules;
  if (!is_asked || happens_in == Schedules::every || !can_be_guided(options) ||
      !is_small(options, report))
    return {};
  SimulationOptions limited = options;
  limited.step_limit = further_step_limit(options, report);
  NeighbouringRuns runs(limited, again);
  Surroundings seen{.contests = runs.contests()};
  if (neighbours == Neighbours::all)
    for (const Contest& contest : runs.listed()) seen.choices.push_back(choice_text(contest));
  if (report.holds())
    find_message_race(runs, report, outputs);
  else
    seen.decisive = find_decisive(runs, report);
  return seen;
}

std::uint64_t further_step_limit(const SimulationOptions& options, const Report& report) noexcept {
  constexpr std::uint64_t least = 1'000'000;
  return std::min(options.step_limit, std::max(least, 100 * report.counts.switches));
}

SimulationOptions another_run(const SimulationOptions& options) {
  SimulationOptions other = options;
  if (other.scheduler == SchedulerKind::replay || other.scheduler == SchedulerKind::guided)
    other.scheduler = SchedulerKind::round_robin;
  other.replay.reset();
  other.guide.reset();
  other.trace = Recording::off;
  other.schedule = Recording::off;
  other.timeline = Recording::off;
  other.call_stacks = Recording::off;
  return other;
}

}  // namespace gang::sim
