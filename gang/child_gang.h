// How gangs are made, as far as that is the same on every backend of processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gang/gang.h"
#include "gang/gang_cause.h"
#include "gang/operation.h"

namespace gang {

// A child as one of its members sees it.
struct ChildGang {
  std::vector<int> members;  // ranks of the parent, in the order of the child's
  int rank = 0;              // of this member
  std::string suffix;        // distinguishes the children of one call
};

// The child of create_gang(list) on `parent_rank`; none if that rank is not in the list.
std::optional<ChildGang> child_of_list(std::span<const int> list, int parent_rank);

// What a member of the parent passes to split.
struct SplitPlace {
  std::int64_t color = no_color;
  std::int64_t key = 0;
};

// The child of split on `parent_rank`; `places` are those of all members of the parent, in rank
// order. None for no_color.
std::optional<ChildGang> child_of_split(std::span<const SplitPlace> places, int parent_rank);

// A gang of `members` of `parent`, its child number `index`; what `options` leave open is
// inherited. For parents that list their root ranks.
std::shared_ptr<const GangInfo> child_info(const GangInfo& parent, std::span<const int> members,
                                           const GangOptions& options, std::uint64_t index);

// A gang of `size` that has no parent, on cpu.
std::shared_ptr<GangInfo> root_info(std::string name, std::string backend, int size,
                                    Duration timeout);

// Ranks 0 to `size` - 1 except `ranks`; ascending.
std::vector<int> other_ranks(std::span<const int> ranks, int size);

// The ranks that say something different from most; the higher ranks in case of a tie.
template <typename Said>
std::vector<int> odd_ranks(const std::vector<Said>& said) {
  const auto most = std::ranges::max_element(
      said, {}, [&said](const Said& one) { return std::ranges::count(said, one); });
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (said[rank] != *most) odd.push_back(static_cast<int>(rank));
  return odd;
}

// The members' lists for create_gang differ, where `said` describes them; none if they are equal.
template <typename Said>
std::optional<GangCause> list_mismatch(const std::vector<Said>& said) {
  std::vector<int> odd = odd_ranks(said);
  if (odd.empty()) return std::nullopt;
  std::string reason =
      "rank " + std::to_string(odd.front()) + " asked for a gang of different ranks";
  return GangCause{.kind = GangErrorKind::mismatch,
                   .ranks_at_fault = std::move(odd),
                   .reason = std::move(reason)};
}

}  // namespace gang
