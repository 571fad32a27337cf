// The verdict at quiescence: who is blocked, and why.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.h"
#include "sim/verdict/blocked_world.h"

namespace gang::sim {

class Engine;

struct DeadlockVerdict {
  std::vector<BlockedCall> blocked;  // by rank
  std::string certainty;             // of the first cause
};

// Called at rest: when no context can run and no time can pass that would change it; or while
// others run, where the verdict is empty if all can still go on. Adds findings, root causes first,
// and returns every blocked context with what it waits for. O(blocked + waits).
DeadlockVerdict report_deadlock(Engine& engine, Moment moment = Moment::at_rest);

}  // namespace gang::sim
