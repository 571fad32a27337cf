// Whether a program does the same each time.
#pragma once

#include <optional>

#include "sim/simulation.h"

namespace gang::sim {

// The finding `nondeterminism` of two runs of a program under one schedule, both with the events of
// their traces: it names the first event in which they differ. None if they do not.
std::optional<Finding> nondeterminism(const Report& first, const Report& again);

}  // namespace gang::sim
