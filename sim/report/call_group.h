// Blocked contexts in the same call, grouped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.h"

namespace gang::sim {

// What the blocked contexts of one group have in common, strictest first.
enum class CallSharing : std::uint8_t {
  all_but_rank,  // everything but the rank and its call stack
  waits,         // the call and the ranks it waits for
  gang_name,     // the call, on gangs with one name; they may wait for different ranks
  any_peer,      // the same, and messages may have different peers
  kind,          // the kind of call and its place, on gangs with one name
};

// One or more blocked contexts. Borrows from the calls that it was made from.
struct CallGroup {
  std::vector<const BlockedCall*> calls;  // never empty, in their order
  CallText call;                          // with any peer if the peers differ
  std::optional<QueuedBehind> behind;     // the same
  std::size_t gangs = 1;                  // the number of distinct gangs
  bool is_alike = true;                   // all wait for the same ranks, in one gang

  const BlockedCall& first() const { return *calls.front(); }
  std::vector<int> ranks() const;  // ascending
  std::string gang_text() const;   // "dp[0,2]", "dp (8 gangs)"
};

// The groups, ordered by their first members. O(calls · log).
std::vector<CallGroup> group_calls(const std::vector<const BlockedCall*>& calls,
                                   CallSharing sharing);

// The same, by the first sharing from `waits` to `last` that gives at most `most` groups, or by
// `last` if none does.
std::vector<CallGroup> group_calls(const std::vector<const BlockedCall*>& calls, CallSharing last,
                                   std::size_t most);

// "0-3,8", "0-2,..."; empty if the group waits for no rank, or its contexts for different ranks.
std::string waits_text(const CallGroup& group, std::size_t most_ranges);

}  // namespace gang::sim
