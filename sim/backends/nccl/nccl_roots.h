// Root gangs over a simulated NCCL.
#pragma once

#include <memory>

#include "sim/backends/root_gangs.h"

namespace gang::sim {

class SimulatedNccl;

// Creates NcclGangs on the devices of a SimulatedNccl. Tensors are in host memory, as in programs
// for any backend.
std::unique_ptr<ForeignGangs> make_nccl_roots(World& world);

// The devices of a run, for code that uses NCCL directly. Requires SimulatedBackend::nccl.
SimulatedNccl& simulated_nccl_of(World& world);

}  // namespace gang::sim
