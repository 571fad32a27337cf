// Explains deadlocks of a simulated Gloo world.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

class FindingLog;
struct World;

// Adds a finding for each cause among the calls in which dead contexts wait:
//   mismatch_...   the k-th collectives of a gang differ: Gloo gives them different slots, so that
//                  their messages never meet; also of a message, its tag, data type or count
//   mismatch_gang  a message and its receive, or calls of one collective, on two gangs
// Adds nothing, and returns false, if no two calls differ.
bool explain_gloo_deadlock(World& world, const BlockedWorld& blocked, VerdictCertainty& certainty,
                           FindingLog& findings);

}  // namespace gang::sim
