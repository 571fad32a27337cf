// Root gangs over a simulated NCCL.
#pragma once

#include <memory>

#include "sim/backends/root_gangs.h"

namespace gang::sim {

class SimulatedNccl;

// NcclGang on the devices of a SimulatedNccl. Tensors are on the host, as those of programs for any
// backend are.
std::unique_ptr<ForeignGangs> make_nccl_roots(World& world);

// The devices of a rank's run, for code that uses NCCL itself. Its run has SimulatedBackend::nccl.
SimulatedNccl& simulated_nccl_of(World& world);

}  // namespace gang::sim
