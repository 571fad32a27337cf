// Pending calls that would match if they were equal in one field.
#pragma once

#include <vector>

#include "sim/verdict_certainty.h"

namespace gang::sim {

// Adds a finding for messages that would meet if their tags were equal (mismatch_tag), and for one
// operation called on two gangs (mismatch_gang). O(pending operations + members of their gangs).
void report_near_misses(Engine& engine, VerdictCertainty& certainty);

// Messages that would meet if the source or the destination were another rank, at most a few; for
// findings that have another cause. O(pending messages).
std::vector<NearMiss> find_other_peers(const Engine& engine);

}  // namespace gang::sim
