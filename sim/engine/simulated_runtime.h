// Threads and time of simulated ranks.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/runtime.h"

namespace gang::sim {

class Engine;
class EngineClient;

// Who uses a runtime.
enum class RuntimeUser : std::uint8_t {
  program,  // a Guide is told who locks and notifies before whom, and may try it the other way
  // Gangs of a foreign backend, with threads of their own. In which order these lock, and how far
  // they are, is taken to matter only where the program looks: a Guide is not told of it.
  gangs,
};

// Shared by all ranks: its functions act on the calling context.
std::unique_ptr<Runtime> make_simulated_runtime(Engine& engine, EngineClient& client,
                                                RuntimeUser user);

}  // namespace gang::sim
