// The verdict at quiescence: who is blocked, and why.
#pragma once

#include <optional>
#include <vector>

#include "sim/report/report.h"
#include "sim/verdict/blocked_world.h"

namespace gang::sim {

struct World;

struct Verdict {
  std::vector<Finding> findings;       // root causes first
  std::vector<BlockedCall> blocked;    // by rank
  std::optional<Certainty> certainty;  // of the first cause; absent: no context is blocked
};

// Called at rest, when no context can run and passing time cannot change that; or while others
// run, when the verdict is empty if every context can still continue. Lists every blocked context
// with what it waits for. O(blocked + waits).
Verdict reach_verdict(const World& world, Moment moment);

}  // namespace gang::sim
