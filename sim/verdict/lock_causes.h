// Mutexes as the cause of a deadlock.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding deadlock for ranks with a context that waits for a mutex whose holder has ended
// without unlocking it.
void report_leaked_locks(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                         FindingLog& findings);

// Says in each finding of a deadlock that might not be there without mutexes which rank holds one
// in a call of a gang while another context waits for it. If that is a collective, and not all of
// the ranks that wait for each other hold one, the finding is laid at the door of those who do;
// what it said before explains the wait.
void blame_held_locks(const World& world, const BlockedWorld& blocked, FindingLog& findings);

}  // namespace gang::sim
