// Which ranks are to blame for a deadlock, a mismatch or an uneven end: those that do something
// else than most ranks.
#pragma once

#include <optional>

#include "sim/options/simulation_options.h"
#include "sim/report/call_history.h"
#include "sim/report/report.h"

namespace gang::sim {

// The options of the same run once more, recording what each rank calls. Nothing where no rank is
// blamed for calls that others wait for, in very large worlds, or where faults were injected: those
// are the cause.
std::optional<SimulationOptions> recording_options(const SimulationOptions& options,
                                                   const Report& report);

// Whether `again`, with recording_options, took the course of `report`.
bool is_same_run(const Report& report, const Report& again);

// Lays the first such finding of `report` at the door of the ranks that left the others, with the
// place of their own call; what it said before explains the wait. Unchanged where no rank, or no
// other rank, is odd; where there is no majority, it says what the sides did. `histories` are those
// of that run, or of the same one.
void settle_culprits(Report& report, const CallHistories& histories);

}  // namespace gang::sim
