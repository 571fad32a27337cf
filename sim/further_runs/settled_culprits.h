// Which ranks are to blame for a deadlock, a mismatch or an uneven end: those that do something
// else than most ranks.
#pragma once

#include <optional>

#include "sim/options/simulation_options.h"
#include "sim/report/call_history.h"
#include "sim/report/report.h"

namespace gang::sim {

// The options of the same run once more, recording what each rank calls. Nothing where no rank is
// blamed for calls that others wait for, where faults have happened (the run without them shows
// what is not due to them), or in worlds of more than a million ranks.
std::optional<SimulationOptions> recording_options(const SimulationOptions& options,
                                                   const Report& report);

// Whether `again`, with recording_options, took the course of `report`.
bool is_same_run(const Report& report, const Report& again);

// Lays the first such finding of `report` at the door of the ranks that left the others, with the
// place of their own call; what it said before explains the wait. Unchanged where no rank, or no
// other rank, is odd; where there is no majority, it says what the sides did. `histories` are those
// of that run, or of the same one.
void settle_culprits(Report& report, const CallHistories& histories);

// The same for a run in which faults have happened and that has findings, from the run without
// them: `clean`, with its histories. What the faults did to their victims plays no part in it. If
// that run has such a finding, too, but another one, the first finding of `report` keeps its ranks
// and says what happens without the faults.
void settle_culprits(Report& report, Report clean, const CallHistories& histories);

}  // namespace gang::sim
