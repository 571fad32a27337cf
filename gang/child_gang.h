// Gangs that are made from gangs, as far as that is the same on every backend of processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gang/gang.h"
#include "gang/operation.h"

namespace gang {

// A child as one of its members sees it.
struct ChildGang {
  std::vector<int> members;  // ranks of the parent, in the order of the child's
  int rank = 0;              // of this member
  std::string suffix;        // tells children of one call apart
};

// The child of create_gang(list) on `parent_rank`; none where it is not in the list.
std::optional<ChildGang> child_of_list(std::span<const int> list, int parent_rank);

// What a member of the parent says in split.
struct SplitPlace {
  std::int64_t color = no_color;
  std::int64_t key = 0;
};

// The child of split on `parent_rank`, where `places` are those of all members of the parent, in
// rank order; none for no_color.
std::optional<ChildGang> child_of_split(std::span<const SplitPlace> places, int parent_rank);

// A gang of `members` of `parent`, its child number `index`: what `options` leave open is
// inherited. For parents that list their root ranks.
std::shared_ptr<const GangInfo> child_info(const GangInfo& parent, std::span<const int> members,
                                           const GangOptions& options, std::uint64_t index);

// The ranks that say something else than most; the higher ones where two things are as frequent.
template <typename Said>
std::vector<int> odd_ranks(const std::vector<Said>& said) {
  const auto most = std::ranges::max_element(
      said, {}, [&said](const Said& one) { return std::ranges::count(said, one); });
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (said[rank] != *most) odd.push_back(static_cast<int>(rank));
  return odd;
}

}  // namespace gang
