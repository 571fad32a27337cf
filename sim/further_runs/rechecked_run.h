// A run that shows whether a program is deterministic.
#pragma once

#include "sim/simulation.h"

namespace gang::sim {

// Runs the program twice and compares the traces step by step: a difference is a `nondeterminism`
// finding that names the first differing event, added to the first run's report.
Report run_rechecked(const SimulationOptions& options, const RankProgram& program);

}  // namespace gang::sim
