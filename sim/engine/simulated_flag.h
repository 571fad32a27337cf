// The end of an operation of a foreign backend, in a simulated world.
#pragma once

#include <memory>

#include "gang/runtime.h"

namespace gang::sim {

class Engine;

// Of an operation that was called at `call_site`, which a thread of its gangs ends. In
// explorations, a look at it is one of the choices. Called under the engine's Guard; its functions
// take that.
std::unique_ptr<RuntimeFlag> make_simulated_flag(Engine& engine, const CallSite& call_site);

}  // namespace gang::sim
