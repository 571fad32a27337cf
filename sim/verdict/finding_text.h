// Words that findings share.
#pragma once

#include <span>
#include <string>
#include <string_view>

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

// Locates a finding about contexts that wait for no operation: adds the last call of its first rank
// to its location and message or, if that rank made no call, the first call that waits for it.
void point_at_last_call(const World& world, BlockedWorld& blocked, Finding& finding);

// A call as shown in a report.
CallSummary summary_of(const PendingOperation& pending);

// "returned from its program", "ended with sys.exit at train.py:12": how the programs of `ranks`,
// none of which failed, ended.
std::string return_text(const World& world, std::span<const int> ranks);

// Adds a sentence to what a finding says.
void add_detail(Finding& finding, std::string_view sentence);

// What is wrong with a cycle of messages, of these kinds: "Each rank's send waits for the next
// rank, which sends first too: 0 → 1 → 0."
std::string message_cycle_text(std::span<const OperationKind> kinds, std::string_view path);

// Which message of a cycle, of these kinds, its finding is about: a send, else a batch, since
// fix_for takes a receive for a cycle of receives. `kinds` must not be empty.
std::size_t told_message(std::span<const OperationKind> kinds);

// The kind of the call of a context that waits for a mutex.
inline constexpr std::string_view mutex_wait = "lock of a mutex";

// The call that `context` is blocked in. If that is not an operation, only the kind is set: "join
// of loader", or "running" if the context is not blocked.
struct CallOnGang {
  GangLabel gang;
  CallText call;
};
CallOnGang describe_wait(const Task& context);

// Whether the rank has launched an operation on the gang that is behind another in its stream.
bool has_launched(const RankState& rank, const GangState& gang);

// "all_reduce #3 on dp[0,2] at train.cc:41".
std::string call_text(const PendingOperation& pending);

// "Rank 1 launched barrier #0 on root[0,1] at a.cc:6 before send ... on pp[0,1] at a.cc:7.", where
// the context waits for an operation that is queued on its rank's stream; else empty.
std::string launched_text(const Task& context);

}  // namespace gang::sim
