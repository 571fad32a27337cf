// Pending calls that differ in one field only.
#pragma once

#include <vector>

#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

struct World;

class FindingLog;

struct PendingOperation;

// A send and a receive, of two ranks, that both wait.
struct MessagePair {
  PendingOperation* send = nullptr;
  PendingOperation* receive = nullptr;
};

// Adds a finding mismatch_tag for pairs that would match if their tags were equal: one for all
// pairs from the same two lines.
void report_other_tags(const std::vector<MessagePair>& pairs, VerdictCertainty& certainty,
                       FindingLog& findings);

// Of one gang or of several.
using WaitingCalls = std::vector<const PendingOperation*>;

// Adds a finding mismatch_gang for an operation that some members of a gang have called, and some
// on another gang with the same members. `collectives`: what has come to an operation, by gang.
void report_collectives_on_two_gangs(const std::vector<WaitingCalls>& collectives,
                                     VerdictCertainty& certainty, FindingLog& findings);

// Adds one for each send whose receive waits on another gang.
void report_messages_on_two_gangs(const WaitingCalls& sends, const WaitingCalls& receives,
                                  VerdictCertainty& certainty, FindingLog& findings);

// Adds all of these for the calls that wait on simulated gangs. O(pending operations + members of
// their gangs).
void report_near_misses(const World& world, VerdictCertainty& certainty, FindingLog& findings);

// At most a few messages that would match with another source or destination, for findings with
// another cause. O(pending messages).
std::vector<NearMiss> find_other_peers(const World& world);

// A message that no rank received; its ends are members of its gang.
struct LeftMessage {
  int destination = 0;
  int source = 0;
  int tag = 0;
};

// The sources whose messages receives from any source took instead of the one that is left: at most
// a few, of which they took more. O(sources), and O(1) where none was taken from that often.
std::vector<NearMiss> taken_instead(const GangState& gang, const LeftMessage& left,
                                    const CallSummary& left_call);

}  // namespace gang::sim
