#include "sim/report/call_group.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace gang::sim {
namespace {

// `call` reduced to what the contexts of a group have in common.
BlockedCall shared_of(const BlockedCall& call, CallSharing sharing) {
  BlockedCall shared = call;
  shared.rank = 0;
  shared.call_stack.clear();
  if (sharing == CallSharing::all_but_rank) return shared;
  shared.location.function.clear();
  if (shared.behind) shared.behind->location.function.clear();
  shared.would_time_out_after_ns = 0;
  if (sharing == CallSharing::waits) return shared;
  shared.waits_for.clear();
  shared.waits_for_count = 0;
  shared.gang.members.clear();
  if (shared.behind) shared.behind->gang.members.clear();
  if (sharing == CallSharing::gang_name) return shared;
  if (shared.behind) shared.behind->call = with_any_peer(std::move(shared.behind->call));
  shared.call = sharing == CallSharing::kind ? CallText{.kind = std::move(shared.call.kind)}
                                             : with_any_peer(std::move(shared.call));
  return shared;
}

void complete(CallGroup& group) {
  const BlockedCall& first = group.first();
  std::set<GangLabel> gangs;
  group.call = first.call;
  group.behind = first.behind;
  for (const BlockedCall* call : group.calls) {
    gangs.insert(call->gang);
    if (call->call != first.call) group.call = with_any_peer(first.call);
    if (call->behind != first.behind && group.behind) {
      group.behind->call = with_any_peer(first.behind->call);
      if (call->behind->gang != first.behind->gang) group.behind->gang.members.clear();
    }
    if (call->gang != first.gang || call->waits_for != first.waits_for) group.is_alike = false;
  }
  group.gangs = gangs.size();
}

}  // namespace

std::vector<int> CallGroup::ranks() const {
  std::vector<int> ranks;
  for (const BlockedCall* blocked : calls) ranks.push_back(blocked->rank);
  std::ranges::sort(ranks);
  return ranks;
}

std::string CallGroup::gang_text() const {
  return gangs == 1 ? to_string(first().gang)
                    : fmt::format("{} ({} gangs)", first().gang.name, gangs);
}

std::vector<CallGroup> group_calls(const std::vector<const BlockedCall*>& calls,
                                   CallSharing sharing) {
  std::vector<CallGroup> groups;
  std::map<BlockedCall, std::size_t> places;
  for (const BlockedCall* call : calls) {
    const auto [place, is_new] = places.try_emplace(shared_of(*call, sharing), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].calls.push_back(call);
  }
  for (CallGroup& group : groups) complete(group);
  return groups;
}

std::vector<CallGroup> group_calls(const std::vector<const BlockedCall*>& calls, CallSharing last,
                                   std::size_t most) {
  for (CallSharing sharing : {CallSharing::waits, CallSharing::gang_name, CallSharing::any_peer})
    if (sharing < last)
      if (std::vector<CallGroup> groups = group_calls(calls, sharing); groups.size() <= most)
        return groups;
  return group_calls(calls, last);
}

std::string waits_text(const CallGroup& group, std::size_t most_ranges) {
  const BlockedCall& call = group.first();
  if (!group.is_alike || call.waits_for_count == 0) return "";
  std::string text = to_rank_ranges(call.waits_for, most_ranges);
  // A longer list ends with "..." anyway.
  const bool shows_all = rank_ranges(call.waits_for).size() <= most_ranges;
  if (call.waits_for_count > call.waits_for.size() && shows_all) text += ",...";
  return text;
}

}  // namespace gang::sim
