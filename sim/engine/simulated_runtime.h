// Threads and time of simulated ranks.
#pragma once

#include "gang/runtime.h"

namespace gang::sim {

class Engine;
class EngineClient;

// One for all ranks: what it does concerns the context that calls it.
std::unique_ptr<Runtime> make_simulated_runtime(Engine& engine, EngineClient& client);

}  // namespace gang::sim
