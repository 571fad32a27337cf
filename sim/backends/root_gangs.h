// Selects the backend that implements a world's gangs.
#pragma once

#include <memory>

#include "sim/matching/foreign_gangs.h"

namespace gang::sim {

// Follows the world's options; null for SimulatedBackend::sim.
std::unique_ptr<ForeignGangs> make_root_gangs(World& world);

}  // namespace gang::sim
