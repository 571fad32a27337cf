// Whether a finding needs rendezvous sends, streams or faults, settled by another run.
#pragma once

#include <optional>

#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::sim {

// The options of the run that settles what `report`, of a run with `options`, leaves open: whether
// its deadlock happens only because sends wait to be received, or because operations wait behind
// others of their stream. Nothing where it leaves neither open: no deadlock, or one that happens
// whatever sends and streams do, or one of a run with faults. With both open, sends are settled.
std::optional<SimulationOptions> settling_options(const SimulationOptions& options,
                                                  const Report& report);

// Takes in what the run with settling_options came to. Where that completed without findings, a
// deadlock that is no cycle of messages alone or of streams becomes a buffering_hazard.
void settle(Report& report, const Report& settling);

// The options of the run that shows whether faults are the cause of what was found.
SimulationOptions without_faults(const SimulationOptions& options);

// Takes in what the run without faults came to: every finding of `report` then says whether it
// needs them.
void settle_faults(Report& report, const Report& clean);

}  // namespace gang::sim
