// Threads and time of simulated ranks.
#pragma once

#include "gang/runtime.h"

namespace gang::sim {

class Engine;
class EngineClient;

// Shared by all ranks: its functions act on the calling context.
std::unique_ptr<Runtime> make_simulated_runtime(Engine& engine, EngineClient& client);

}  // namespace gang::sim
