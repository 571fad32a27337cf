// Root gangs over the algorithms of Gloo, where it is built.
#pragma once

#include <memory>

#include "sim/backends/root_gangs.h"

namespace gang::sim {

class GlooNetwork;
class SimulatedRank;

// GlooGang over the messages of a GlooNetwork. Throws NotSupported in a build without Gloo.
std::unique_ptr<RootGangs> make_gloo_roots(Engine& engine);

// The network of a rank's run, for code that uses Gloo itself. Its run has SimulatedBackend::gloo.
GlooNetwork& gloo_network_of(SimulatedRank& rank);

}  // namespace gang::sim
