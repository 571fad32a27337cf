// Words that findings share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/rank_text.h"
#include "sim/report/report.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

class BlockedWorld;
struct RankState;

// A finding about `pending`: its gang, operation and location.
Finding finding_for(const PendingOperation& pending, std::string_view id);

// " at train.cc:41"; empty where the place is not known.
std::string place_text(const CallSite& call_site);

// The list of a create_gang, in its order: "0-3", "2,0".
std::string rank_list_text(std::span<const int> ranks);

// Of a finding about contexts that wait for no operation: the last call of the first of its ranks
// or, where that has called nothing, the first call that waits for it, becomes its location and is
// told in its message.
void point_at_last_call(const World& world, BlockedWorld& blocked, Finding& finding);

// What a call is in a report.
CallSummary summary_of(const PendingOperation& pending);

// What `context` is blocked in: "join of loader", "all_reduce #0 sum f32[8]" with its gang's label
// in front, "sleep", ...; "running" where it is not blocked.
std::string describe_wait(const Task& context);

// Whether the rank has launched an operation on the gang that is behind another in its stream.
bool has_launched(const RankState& rank, const GangState& gang);

// "all_reduce #3 on dp[0,2] at train.cc:41".
std::string call_text(const PendingOperation& pending);

// "Rank 1 launched barrier #0 on root[0,1] at a.cc:6 before send ... on pp[0,1] at a.cc:7.", where
// the context waits for an operation that is queued on its rank's stream; else empty.
std::string launched_text(const Task& context);

}  // namespace gang::sim
