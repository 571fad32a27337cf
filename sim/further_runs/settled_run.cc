#include "sim/further_runs/settled_run.h"

#include <algorithm>

#include <fmt/format.h>

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

}  // namespace

Report run_settled(const SimulationOptions& options, const RankProgram& program) {
  const RunAgain run = [&program](const SimulationOptions& chosen) {
    return Simulation(chosen).run(program);
  };
  Report report = run(options);
  settle_deadlock(options, report, run);
  settle_culprits(options, report, run);
  settle_faults(options, report, run);
  find_message_race(options, report, run);
  return report;
}

void settle_deadlock(const SimulationOptions& options, Report& report, const RunAgain& again) {
  if (const std::optional<SimulationOptions> settling = settling_options(options, report))
    settle(report, again(*settling));
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

void find_message_race(const SimulationOptions& options, Report& report, const RunAgain& again,
                       const std::function<bool()>& outputs_differ) {
  if (!report.holds()) return;
  for (const RaceCandidate& candidate : report.races.candidates) {
    const Report forced = again(forcing_options(options, candidate));
    std::optional<Finding> finding =
        message_race(candidate, forced, outputs_differ && outputs_differ());
    if (!finding) continue;
    report.findings.push_back(*std::move(finding));
    return;
  }
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

SimulationOptions forcing_options(const SimulationOptions& options,
                                  const RaceCandidate& candidate) {
  SimulationOptions forcing = another_run(options);
  forcing.forced_receive = ForcedReceive{.receiver = candidate.receiver,
                                         .receive_index = candidate.receive_index,
                                         .source = candidate.other_source};
  return forcing;
}

std::optional<Finding> message_race(const RaceCandidate& candidate, const Report& forced,
                                    bool outputs_differ) {
  if (!forced.races.forced_receive_completed || (forced.holds() && !outputs_differ))
    return std::nullopt;
  std::string difference = "the outputs differ";
  if (!forced.findings.empty())
    difference = fmt::format("the run ends with {}", forced.findings.front().id);
  else if (forced.outcome != Outcome::completed)
    difference = fmt::format("the run ends with {}", to_string(forced.outcome));
  Finding finding;
  finding.id = finding_id::message_race;
  finding.ranks = {candidate.receiver, candidate.taken_source, candidate.other_source};
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.gang = candidate.gang;
  finding.call = candidate.call;
  finding.location = candidate.location;
  finding.message = fmt::format(
      "Rank {} received from any source at {} and took the message of rank {}, sent at {}.",
      candidate.receiver, to_string(candidate.location), candidate.taken_source,
      to_string(candidate.taken_location));
  finding.detail =
      fmt::format("It could also take that of rank {}, sent at {}: in a run where it did, {}.",
                  candidate.other_source, to_string(candidate.other_location), difference);
  return finding;
}

}  // namespace gang::sim
