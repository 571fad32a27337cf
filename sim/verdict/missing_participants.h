// Ranks that others wait for although their programs have ended.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding for every set of ended ranks that others wait for. The odd ranks are the ended
// ones, unless they are the majority of three or more members: then those that arrived. If all of
// them ended after the very call that the others repeat, the finding is uneven_iterations.
void report_missing_participants(const World& world, BlockedWorld& blocked,
                                 VerdictCertainty& certainty, FindingLog& findings);

}  // namespace gang::sim
