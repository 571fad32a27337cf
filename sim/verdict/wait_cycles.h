// Ranks that wait for each other.
#pragma once

#include <set>
#include <vector>

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding for every cause among the dead contexts that is a cycle:
//   stream_order_inversion   something in it is queued behind another operation of its rank
//   point_to_point_cycle     of messages only
//   blocked_in_other_gang    of two collectives that share three or more members, fewer of which
//                            arrived at one than at the other; those are odd
//   cross_gang_cycle         of two or more gangs, where no rank is odd
//   participant_missing      of one collective, and of messages on its gang
//   deadlock                 anything else
// Cycles through the `explained` ranks have a finding already.
void report_wait_cycles(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                        FindingLog& findings, std::vector<NearMiss> near_misses,
                        const std::set<int>& explained = {});

}  // namespace gang::sim
