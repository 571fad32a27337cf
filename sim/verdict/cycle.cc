#include "sim/verdict/cycle.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

std::string context_text(const Task& context) {
  const int rank = context.rank->rank;
  return context.further ? fmt::format("{}/{}", rank, context.further->name) : std::to_string(rank);
}

// Members of `other` that have come to `slot`.
std::vector<int> members_in(const MatchSlot& slot, const GangState& other) {
  const auto& ranks = other.info->root_ranks;
  const std::unordered_set<int> others(ranks.begin(), ranks.end());
  std::vector<int> in = ranks_at(slot, true);
  std::erase_if(in, [&others](int rank) { return !others.contains(rank); });
  return in;
}

}  // namespace

Cycle cycle_of(const BlockedWorld& blocked, const std::vector<WaitGraph::Node>& core) {
  const auto first = std::find_if(core.begin(), core.end(), [&blocked](WaitGraph::Node node) {
    return blocked.thing(node).context != nullptr;
  });
  Cycle cycle;
  if (first == core.end()) return cycle;
  for (const WaitGraph::Node node : blocked.graph().cycle_through(*first)) {
    const Task* context = blocked.thing(node).context;
    if (context == nullptr) continue;
    cycle.contexts.push_back(context);
    cycle.operations.push_back(BlockedWorld::operation_of(*context));
  }
  return cycle;
}

std::vector<int> sorted_ranks(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<int> ranks_of(const Cycle& cycle) {
  std::vector<int> ranks;
  for (const Task* context : cycle.contexts) ranks.push_back(context->rank->rank);
  return sorted_ranks(std::move(ranks));
}

std::set<std::string> gangs_of(const Cycle& cycle) {
  std::set<std::string> gangs;
  for (const PendingOperation* pending : cycle.operations) {
    gangs.insert(pending->gang->label());
    gangs.insert(held_up_by(*pending).gang->label());
  }
  return gangs;
}

bool has_queued(const Cycle& cycle) {
  for (std::size_t i = 0; i < cycle.operations.size(); ++i) {
    const PendingOperation& pending = *cycle.operations[i];
    const RankState& next = *cycle.contexts[(i + 1) % cycle.contexts.size()]->rank;
    if (pending.status == PendingStatus::launched || has_launched(next, *pending.gang)) return true;
  }
  return false;
}

std::string cycle_path(const Cycle& cycle) {
  constexpr std::size_t most_shown = 12;
  constexpr std::size_t first_shown = 8;
  constexpr std::size_t last_shown = 2;
  const std::size_t size = cycle.contexts.size();
  std::string path;
  for (std::size_t i = 0; i < size; ++i) {
    if (size > most_shown && i == first_shown) {
      path += fmt::format("({} more) → ", size - first_shown - last_shown);
      i = size - last_shown;
    }
    path += context_text(*cycle.contexts[i]) + " → ";
  }
  return path + context_text(*cycle.contexts.front());
}

const PendingOperation& any_call(const MatchSlot& slot) {
  return **std::find_if(slot.members.begin(), slot.members.end(),
                        [](const PendingOperation* member) { return member != nullptr; });
}

// Root ranks of the members that have come to `slot`, or of the others; ascending.
std::vector<int> ranks_at(const MatchSlot& slot, bool have_come) {
  const GangState& gang = *any_call(slot).gang;
  std::vector<int> ranks;
  for (std::size_t member = 0; member < slot.members.size(); ++member)
    if ((slot.members[member] != nullptr) == have_come)
      ranks.push_back(gang.root_rank_of(static_cast<int>(member)));
  return sorted_ranks(std::move(ranks));
}

std::optional<Sides> uneven_sides(const Cycle& cycle) {
  std::set<std::uint32_t> gangs;
  Sides sides;
  for (const PendingOperation* waited_for : cycle.operations) {
    const PendingOperation& pending = held_up_by(*waited_for);
    if (pending.slot == nullptr) return std::nullopt;
    if (!gangs.insert(pending.gang->index).second) continue;
    (sides.fewer == nullptr ? sides.fewer : sides.more) = pending.slot;
  }
  if (gangs.size() != 2) return std::nullopt;
  sides.in_fewer = members_in(*sides.fewer, *any_call(*sides.more).gang);
  sides.in_more = members_in(*sides.more, *any_call(*sides.fewer).gang);
  // Where as many of both gangs are on either side, all who have come there count.
  const auto come = [](const std::vector<int>& in_both, const MatchSlot& slot) {
    return std::pair(in_both.size(), slot.arrived);
  };
  auto fewer = come(sides.in_fewer, *sides.fewer);
  auto more = come(sides.in_more, *sides.more);
  if (fewer.first == more.first) fewer.first = more.first = 0;
  if (fewer == more) return std::nullopt;
  if (fewer > more) {
    std::swap(sides.fewer, sides.more);
    std::swap(sides.in_fewer, sides.in_more);
  }
  return sides;
}

}  // namespace gang::sim
