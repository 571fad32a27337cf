// Whether a deadlock needs rendezvous sends or streams, settled by another run.
#pragma once

#include <optional>

#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::sim {

// The options of the run that settles what `report`, of a run with `options`, leaves open: whether
// its deadlock happens only because sends wait to be received, or because operations wait behind
// others of their stream. Nothing where it leaves neither open: no deadlock, or one that happens
// whatever sends and streams do. With both open, sends are settled. A replayed schedule is not
// followed: it is of the other run.
std::optional<SimulationOptions> settling_options(const SimulationOptions& options,
                                                  const Report& report);

// Takes in what the run with settling_options came to. Where it completed without findings, the
// deadlock's certainty says "but only ..."; one that is no cycle of messages alone or of streams
// becomes a buffering_hazard. Where it did not, that is what the certainty says.
void settle(const SimulationOptions& options, Report& report, const Report& settling);

}  // namespace gang::sim
