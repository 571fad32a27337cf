#include "sim/state/gang_state.h"

#include <algorithm>
#include <span>
#include <utility>

#include "gang/hash.h"
#include "sim/report/rank_text.h"

namespace gang::sim {

std::uint64_t GangState::key_of(const GangInfo& info) noexcept {
  std::uint64_t key = fnv1a(std::as_bytes(std::span{info.name}));
  for (const int rank : info.root_ranks) key = splitmix64(key, static_cast<std::uint64_t>(rank));
  return key | 1;  // 0: not yet computed
}

MatchSlot& GangState::add_slots(std::size_t place) {
  MatchSlot* slot = nullptr;
  for (std::size_t next = active.size(); next <= place; ++next) {
    slot = &slots->take();
    slot->sequence_number = base_sequence + next;
    active.push_back(slot);
  }
  return *slot;
}

std::string members_text(const GangState& gang, const std::vector<int>& members) {
  if (members.empty()) return "a member";
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(gang.root_rank_of(member));
  std::ranges::sort(ranks);
  return ranks_text(ranks);
}

std::vector<int> missing_members(const MatchSlot& slot) {
  std::vector<int> missing;
  for (std::size_t i = 0; i < slot.members.size(); ++i)
    if (slot.members[i] == nullptr) missing.push_back(static_cast<int>(i));
  return missing;
}

const MatchSlot* slot_of(const GangState& gang, const PendingOperation& pending) noexcept {
  if (pending.slot != nullptr || is_point_to_point(pending.call().kind)) return pending.slot;
  return gang.active.empty() ? nullptr : gang.active.front();
}

}  // namespace gang::sim
