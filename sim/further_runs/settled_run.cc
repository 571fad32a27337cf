#include "sim/further_runs/settled_run.h"

#include "sim/further_runs/message_race.h"
#include "sim/further_runs/settled_certainty.h"

namespace gang::sim {

Report run_settled(const SimulationOptions& options, const RankProgram& program) {
  const RunAgain run = [&program](const SimulationOptions& chosen) {
    return Simulation(chosen).run(program);
  };
  Report report = run(options);
  settle_deadlock(options, report, run);
  settle_faults(options, report, run);
  find_message_race(options, report, run);
  return report;
}

void settle_deadlock(const SimulationOptions& options, Report& report, const RunAgain& again) {
  if (const std::optional<SimulationOptions> settling = settling_options(options, report))
    settle(report, again(*settling));
}

void settle_faults(const SimulationOptions& options, Report& report, const RunAgain& again) {
  if (!report.faults.empty()) settle_faults(report, again(without_faults(options)));
}

void find_message_race(const SimulationOptions& options, Report& report, const RunAgain& again,
                       const std::function<bool()>& outputs_differ) {
  if (!report.holds()) return;
  for (const RaceCandidate& candidate : report.race_candidates) {
    const Report forced = again(forcing_options(options, candidate));
    std::optional<Finding> finding =
        message_race(candidate, forced, outputs_differ && outputs_differ());
    if (!finding) continue;
    report.findings.push_back(*std::move(finding));
    return;
  }
}

}  // namespace gang::sim
