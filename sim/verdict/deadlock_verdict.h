// The verdict at quiescence: who is blocked, and why.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.h"
#include "sim/verdict/blocked_world.h"

namespace gang::sim {

struct World;

struct Verdict {
  std::vector<Finding> findings;     // root causes first
  std::vector<BlockedCall> blocked;  // by rank
  std::string certainty;             // of the first cause
};

// Called at rest: when no context can run and no time can pass that would change it; or while
// others run, where the verdict is empty if all can still go on. Every blocked context is
// in it, with what it waits for. O(blocked + waits).
Verdict reach_verdict(const World& world, Moment moment);

}  // namespace gang::sim
