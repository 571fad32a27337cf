#include "sim/matching/group_creation.h"

#include <algorithm>

#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// A gang of `members` of `parent`, with the name and timeout that the first of them requests.
std::shared_ptr<GangState> make_child(Matching& matching, GangState& parent, const MatchSlot& slot,
                                      std::span<const int> members) {
  const auto first = static_cast<std::size_t>(members.front());
  const GangOptions& options = *slot.members[first]->operation->extras->gang_options;
  GangInfo info;
  info.name = options.name.empty() ? default_child_name(*parent.info, parent.descent.children_made)
                                   : options.name;
  info.device = parent.info->device;
  info.timeout = options.timeout.value_or(parent.info->timeout);
  info.backend = parent.info->backend;
  info.size = static_cast<int>(members.size());
  info.root_ranks.reserve(members.size());
  for (const int member : members) info.root_ranks.push_back(parent.root_rank_of(member));
  auto child = matching.make_gang(std::move(info));
  child->descent.parent = parent.index;
  return child;
}

void seat(MatchSlot& slot, const std::shared_ptr<GangState>& child, std::span<const int> members) {
  for (std::size_t i = 0; i < members.size(); ++i)
    slot.children[static_cast<std::size_t>(members[i])] = {child, static_cast<int>(i)};
}

void split(Matching& matching, GangState& parent, MatchSlot& slot) {
  struct Place {
    int color;
    int key;
    int member;
    bool operator<(const Place& other) const noexcept {
      return std::tie(color, key, member) < std::tie(other.color, other.key, other.member);
    }
  };
  std::vector<Place> places;
  places.reserve(slot.members.size());
  for (const PendingOperation* member : slot.members)
    if (member->operation->extras->color != no_color)
      places.push_back(
          {member->operation->extras->color, member->operation->extras->key, member->member});
  std::sort(places.begin(), places.end());
  std::vector<int> members;
  for (std::size_t begin = 0; begin < places.size();) {
    members.clear();
    std::size_t end = begin;
    for (; end < places.size() && places[end].color == places[begin].color; ++end)
      members.push_back(places[end].member);
    seat(slot, make_child(matching, parent, slot, members), members);
    begin = end;
  }
}

}  // namespace

void make_children(Matching& matching, GangState& parent, MatchSlot& slot) {
  slot.children.assign(slot.members.size(), {});
  const Operation& operation = *slot.members.front()->operation;
  if (operation.collective.kind == OperationKind::split)
    split(matching, parent, slot);
  else
    seat(slot, make_child(matching, parent, slot, operation.extras->ranks),
         operation.extras->ranks);
  ++parent.descent.children_made;
}

void take_seat(World& world, PendingOperation& pending, ChildSeat seat) {
  if (!seat.gang) return;
  const int rank = pending.task->rank->rank;
  seat.gang->making_places.note(seat.rank, pending.call().call_site);
  *pending.operation->extras->created =
      std::make_shared<SimGang>(std::move(seat.gang), seat.rank, world.rank(rank));
}

}  // namespace gang::sim
