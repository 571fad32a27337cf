// Root gangs over the algorithms of Gloo, where it is built.
#pragma once

#include <memory>

#include "sim/backends/root_gangs.h"

namespace gang::sim {

class GlooNetwork;

// GlooGang over the messages of a GlooNetwork. Throws NotSupported in a build without Gloo.
std::unique_ptr<ForeignGangs> make_gloo_roots(World& world);

// The network of a rank's run, for code that uses Gloo itself. Its run has SimulatedBackend::gloo.
GlooNetwork& gloo_network_of(World& world);

}  // namespace gang::sim
