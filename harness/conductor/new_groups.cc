#include "harness/conductor/new_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/rank_list.h"
#include "sim/report/rank_text.h"

namespace gang::harness {
namespace {

constexpr std::size_t most_told = 3;  // sides of a finding

// Ranks that make a group of the same members.
struct Side {
  std::vector<int> ranks;
  std::vector<int> members;
  CallSite call_site;  // of the first of them
};

std::string text_of(const Side& side, bool is_first, const std::string& name) {
  return fmt::format("{} made {} of {} at {}", sim::ranks_text(side.ranks),
                     is_first ? "group " + name : "it", ranks_text(side.members),
                     to_string(side.call_site));
}

}  // namespace

NewGroups::Group& NewGroups::group_of(const NewGroupMessage& message) {
  const auto known = std::ranges::find_if(groups_, [&message](const Group& group) {
    return group.init == message.init && group.name == message.name;
  });
  if (known != groups_.end()) return *known;
  return groups_.emplace_back(Group{message.init, message.name, {}});
}

bool NewGroups::is_agreed(const Group& group) {
  return std::ranges::all_of(group.makers, [&group](const Maker& maker) {
    return maker.members == group.makers.front().members;
  });
}

std::optional<sim::Finding> NewGroups::note(int rank, const NewGroupMessage& message,
                                            int world_size) {
  Group& group = group_of(message);
  if (std::ranges::find(group.makers, rank, &Maker::rank) != group.makers.end()) return {};
  group.makers.push_back({rank, message.ranks, message.call_site});
  const bool is_last = group.makers.size() == static_cast<std::size_t>(world_size);
  if (!is_last || is_agreed(group) || std::exchange(has_told_, true)) return {};
  return finding_of(group);
}

std::optional<sim::Finding> NewGroups::unfinished() {
  const auto group = std::ranges::find_if_not(groups_, is_agreed);
  if (group == groups_.end() || std::exchange(has_told_, true)) return {};
  return finding_of(*group);
}

// Those who are fewer are wrong, if most agree.
sim::Finding NewGroups::finding_of(const Group& group) {
  std::vector<Maker> makers = group.makers;
  std::ranges::sort(makers, {}, &Maker::rank);
  std::map<std::vector<int>, std::size_t> side_of;
  std::vector<Side> sides;
  for (const Maker& maker : makers) {
    const auto [side, is_new] = side_of.emplace(maker.members, sides.size());
    if (is_new) sides.push_back({{}, maker.members, maker.call_site});
    sides[side->second].ranks.push_back(maker.rank);
  }
  std::ranges::stable_sort(sides, std::less(), [](const Side& side) { return side.ranks.size(); });
  const bool has_majority = sides.back().ranks.size() > sides[sides.size() - 2].ranks.size();
  sim::Finding finding;
  finding.id = std::string(sim::finding_id::group_creation_order);
  finding.location = location_of(sides.front().call_site);
  for (std::size_t side = 0; side < sides.size() - (has_majority ? 1 : 0); ++side)
    for (const int rank : sides[side].ranks) finding.ranks.push_back(rank);
  std::ranges::sort(finding.ranks);
  if (sides.size() > most_told) sides.erase(sides.begin() + most_told - 1, sides.end() - 1);
  std::vector<std::string> texts;
  for (const Side& side : sides) texts.push_back(text_of(side, texts.empty(), group.name));
  texts.front() = sim::capitalised(std::move(texts.front()));
  finding.message = fmt::format("{}: all ranks must call new_group for all groups, in one order.",
                                fmt::join(texts, "; "));
  return finding;
}

}  // namespace gang::harness
