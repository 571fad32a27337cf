// Why a run cannot continue: one finding per cause.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding for each cause of the dead contexts of `world`, with what else waits for it. The
// causes are the cores of the wait-for graph: ranks that will never act, and sets of calls that
// wait for each other.
void report_root_causes(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                        FindingLog& findings);

}  // namespace gang::sim
