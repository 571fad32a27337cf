// Root gangs that run Gloo's algorithms, in builds with Gloo.
#pragma once

#include <memory>

#include "sim/backends/root_gangs.h"

namespace gang::sim {

class GlooNetwork;

// Creates GlooGangs over the messages of a GlooNetwork. Throws NotSupported in builds without Gloo.
std::unique_ptr<ForeignGangs> make_gloo_roots(World& world);

// The network of a run, for code that uses Gloo directly. Requires SimulatedBackend::gloo.
GlooNetwork& gloo_network_of(World& world);

}  // namespace gang::sim
