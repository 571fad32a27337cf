#include "gang/child_gang.h"

#include <utility>

namespace gang {

std::optional<ChildGang> child_of_list(std::span<const int> list, int parent_rank) {
  const auto found = std::ranges::find(list, parent_rank);
  if (found == list.end()) return std::nullopt;
  return ChildGang{.members = {list.begin(), list.end()},
                   .rank = static_cast<int>(found - list.begin())};
}

std::optional<ChildGang> child_of_split(std::span<const SplitPlace> places, int parent_rank) {
  const std::int64_t color = places[static_cast<std::size_t>(parent_rank)].color;
  if (color == no_color) return std::nullopt;
  std::vector<std::pair<std::int64_t, int>> order;  // key, rank in the parent
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].color == color) order.emplace_back(places[rank].key, static_cast<int>(rank));
  std::ranges::sort(order);
  ChildGang child{.suffix = "." + std::to_string(color)};
  for (const auto& [key, rank] : order) {
    if (rank == parent_rank) child.rank = static_cast<int>(child.members.size());
    child.members.push_back(rank);
  }
  return child;
}

std::shared_ptr<const GangInfo> child_info(const GangInfo& parent, std::span<const int> members,
                                           const GangOptions& options, std::uint64_t index) {
  auto info = std::make_shared<GangInfo>(parent);
  info->name = options.name.empty() ? default_child_name(parent, index) : options.name;
  info->timeout = options.timeout.value_or(parent.timeout);
  info->size = static_cast<int>(members.size());
  info->root_ranks.clear();
  for (const int member : members)
    info->root_ranks.push_back(parent.root_ranks[static_cast<std::size_t>(member)]);
  return info;
}

std::shared_ptr<GangInfo> root_info(std::string name, std::string backend, int size,
                                    Duration timeout) {
  auto info = std::make_shared<GangInfo>();
  info->name = std::move(name);
  info->backend = std::move(backend);
  info->size = size;
  info->timeout = timeout;
  for (int rank = 0; rank < size; ++rank) info->root_ranks.push_back(rank);
  return info;
}

std::vector<int> other_ranks(std::span<const int> ranks, int size) {
  std::vector<int> others;
  for (int rank = 0; rank < size; ++rank)
    if (std::ranges::find(ranks, rank) == ranks.end()) others.push_back(rank);
  return others;
}

}  // namespace gang
