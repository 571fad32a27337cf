#include "sim/matching/call_partings.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// Only calls that are near each other are compared, and only a few are told.
constexpr std::size_t most_kept = 8;
constexpr std::size_t most_told = 16;

bool mixes_data(OperationKind kind) {
  return !has_root(kind) &&
         (reduces(kind) || kind == OperationKind::all_gather || kind == OperationKind::all_to_all);
}

// None if members called it in more than two places, or one is not known.
std::optional<CallParting> parting_of(const CallPlaces& places, OperationKind kind) {
  CallParting parting{.kind = kind,
                      .sequence_number = places.sequence_number,
                      .place = places.by_member.front(),
                      .other_place = {},
                      .is_elsewhere = {}};
  for (const CallSite& site : places.by_member) {
    if (site.line() == 0) return std::nullopt;
    const bool is_elsewhere = !(site == parting.place);
    if (is_elsewhere && parting.other_place.line() == 0) parting.other_place = site;
    if (is_elsewhere && !(site == parting.other_place)) return std::nullopt;
    parting.is_elsewhere.push_back(is_elsewhere);
  }
  return parting;
}

// Member 0 is at `place` of each.
bool are_crossed(const CallParting& one, const CallParting& other) {
  return one.kind == other.kind && one.place == other.other_place &&
         one.other_place == other.place && one.is_elsewhere == other.is_elsewhere;
}

CrossedCalls crossed_calls(const GangState& gang, const MatchSlot& slot, const CallParting& first,
                           std::uint64_t second) {
  const auto side = [&](bool is_elsewhere) {
    CallSummary summary{.gang = gang.gang_label(),
                        .call = describe(slot.members.front()->call(), *gang.info),
                        .location = location_of(is_elsewhere ? first.other_place : first.place)};
    summary.call.sequence = first.sequence_number;
    for (std::size_t member = 0; member < first.is_elsewhere.size(); ++member)
      if (first.is_elsewhere[member] == is_elsewhere)
        summary.ranks.push_back(gang.root_rank_of(static_cast<int>(member)));
    std::ranges::sort(summary.ranks);
    return summary;
  };
  CrossedCalls crossed{.most = side(false), .others = side(true), .second = second};
  if (crossed.most.ranks.size() < crossed.others.ranks.size())
    std::swap(crossed.most, crossed.others);
  return crossed;
}

bool is_known(const std::vector<CrossedCalls>& known, const CrossedCalls& crossed) {
  return std::ranges::any_of(known, [&](const CrossedCalls& each) {
    return (each.most.location == crossed.most.location &&
            each.others.location == crossed.others.location) ||
           (each.most.location == crossed.others.location &&
            each.others.location == crossed.most.location);
  });
}

}  // namespace

void note_parting(World& world, GangState& gang, const MatchSlot& slot) {
  if (!gang.places) gang.places = std::make_unique<CallPlaces>();
  CallPlaces& places = *gang.places;
  if (places.sequence_number + 1 != slot.sequence_number) places.first_by_member.clear();
  places.sequence_number = slot.sequence_number;
  places.by_member.clear();
  for (const PendingOperation* member : slot.members)
    places.by_member.push_back(member->call().call_site);
  const OperationKind kind = slot.members.front()->call().kind;
  if (places.first_by_member.empty() && !has_root(kind)) {
    places.first = gang.last_call;
    places.first_by_member = places.by_member;
  }
  if (!mixes_data(kind)) return;
  std::optional<CallParting> parting = parting_of(places, kind);
  if (!parting) return;
  auto& earlier = places.partings;
  const auto first = std::ranges::find_if(
      earlier, [&](const CallParting& each) { return are_crossed(each, *parting); });
  if (first == earlier.end()) {
    if (earlier.size() == most_kept) earlier.erase(earlier.begin());
    earlier.push_back(*std::move(parting));
    return;
  }
  if (world.crossed_calls.size() < most_told) {
    CrossedCalls crossed = crossed_calls(gang, slot, *first, parting->sequence_number);
    if (!is_known(world.crossed_calls, crossed)) world.crossed_calls.push_back(std::move(crossed));
  }
  earlier.erase(first);
}

}  // namespace gang::sim
