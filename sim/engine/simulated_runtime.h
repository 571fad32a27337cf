// Threads and time of simulated ranks.
#pragma once

#include "gang/runtime.h"

namespace gang::sim {

class Engine;

// One for all ranks: what it does concerns the context that calls it.
std::unique_ptr<Runtime> make_simulated_runtime(Engine& engine);

}  // namespace gang::sim
