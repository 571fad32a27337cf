// Pending calls that would match if they were equal in one field.
#pragma once

#include <vector>

#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

// Adds a finding for messages that would meet if their tags were equal (mismatch_tag), and for one
// operation called on two gangs (mismatch_gang). O(pending operations + members of their gangs).
void report_near_misses(const World& world, VerdictCertainty& certainty, FindingLog& findings);

// Messages that would meet if the source or the destination were another rank, at most a few; for
// findings that have another cause. O(pending messages).
std::vector<NearMiss> find_other_peers(const World& world);

// A message that nobody received: members of its gang.
struct LeftMessage {
  int destination = 0;
  int source = 0;
  int tag = 0;
};

// Whose messages receives from any source have taken where the one that is left was to be taken:
// those of whom they took more, at most a few. O(messages of that tag).
std::vector<NearMiss> taken_instead(const GangState& gang, const LeftMessage& left,
                                    const CallSummary& left_call);

}  // namespace gang::sim
