// A run that shows whether a program is deterministic.
#pragma once

#include <optional>

#include "sim/simulation.h"

namespace gang::sim {

// The finding `nondeterminism` of two runs under one schedule, with their traces: names the first
// event in which they differ. None if they do not.
std::optional<Finding> nondeterminism(const Report& first, const Report& again);

// Runs the program twice and compares the traces step by step: a difference is a `nondeterminism`
// finding that names the first differing event, added to the first run's report.
Report run_rechecked(const SimulationOptions& options, const RankProgram& program);

}  // namespace gang::sim
