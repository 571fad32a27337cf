// The end of an operation of a foreign backend, in a simulated world.
#pragma once

#include <memory>

#include "gang/runtime.h"

namespace gang::sim {

class Engine;

// Of an operation that was called at `call_site`. Explorations try each look before and after the
// end. Called under the engine's Guard; the functions of the flag take that themselves.
std::unique_ptr<RuntimeFlag> make_simulated_flag(Engine& engine, const CallSite& call_site);

}  // namespace gang::sim
