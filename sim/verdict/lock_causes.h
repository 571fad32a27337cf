// Mutexes as the cause of a deadlock.
#pragma once

#include <vector>

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding deadlock for ranks with a context that waits for a mutex whose holder has ended
// without unlocking it.
void report_leaked_locks(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                         FindingLog& findings);

// Where the deadlock of `core` might not be there without mutexes, says in its finding which rank
// holds one in a call of a gang while another context of `core` waits for it. If that is a
// collective, and not all of its ranks hold one, the finding is laid at the door of those who do;
// what it said before explains the wait.
void blame_held_locks(const World& world, const BlockedWorld& blocked,
                      const std::vector<WaitGraph::Node>& core, Finding& finding);

}  // namespace gang::sim
