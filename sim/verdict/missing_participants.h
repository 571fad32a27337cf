// Ranks that will never come to what others wait for, since their programs have ended.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding for every set of ranks that is gone and waited for. The odd ranks are those that
// are gone, unless they are the most of three or more members: then those that came. Where all are
// done with the very call that the others make once more, the finding is uneven_iterations.
void report_missing_participants(const World& world, BlockedWorld& blocked,
                                 VerdictCertainty& certainty, FindingLog& findings);

}  // namespace gang::sim
