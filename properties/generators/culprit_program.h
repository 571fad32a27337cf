// The program of a culprit case, as each rank runs it.
#pragma once

#include "properties/generators/culprit_case.h"
#include "sim/simulation.h"

namespace gang::properties {

sim::SimulationOptions options_of(const CulpritCase& one);

// Makes the gangs of the axes, then the calls. Blocks as these do; ends with their errors, or with
// that of a culprit that throws.
void run_rank(const CulpritCase& one, sim::SimulatedRank& rank);
void run_rank(const CulpritCase& one, const std::shared_ptr<Gang>& root);  // of this rank

}  // namespace gang::properties
