// What the gangs of a world are made of.
#pragma once

#include <memory>

#include "sim/matching/foreign_gangs.h"

namespace gang::sim {

// As the world's options say; null for SimulatedBackend::sim.
std::unique_ptr<ForeignGangs> make_root_gangs(World& world);

}  // namespace gang::sim
