// The verdict at quiescence: who is blocked, and why.
#pragma once

#include <vector>

#include "sim/report.h"

namespace gang::sim {

class Engine;

// Called when no context can run and no time can pass that would change it. Adds findings, root
// causes first, and returns every blocked context with what it waits for, by rank. O(blocked +
// waits).
std::vector<BlockedCall> report_deadlock(Engine& engine);

}  // namespace gang::sim
