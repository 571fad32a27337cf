#include "sim/backends/nccl/nccl_assembly.h"

#include <algorithm>
#include <utility>

#include "sim/state/world.h"

namespace gang::sim {

void NcclAssembly::join(int place, const NcclSplit& split) {
  std::optional<NcclSplit>& seat = come_.at(static_cast<std::size_t>(place));
  if (seat) return;
  seat = split;
  if (++joined_ == root_ranks_.size()) form();
}

std::vector<int> NcclAssembly::missing() const {
  std::vector<int> ranks;
  for (std::size_t place = 0; place < come_.size(); ++place)
    if (!come_[place]) ranks.push_back(root_ranks_[place]);
  std::ranges::sort(ranks);
  return ranks;
}

NcclAssembly::Seat NcclAssembly::seat_of(int place) const {
  return seats_.at(static_cast<std::size_t>(place));
}

// Sorts by color, then key, then place.
void NcclAssembly::form() {
  std::map<int, std::vector<std::pair<int, std::size_t>>> by_color;
  for (std::size_t place = 0; place < come_.size(); ++place)
    if (come_[place]->color != no_color)
      by_color[come_[place]->color].emplace_back(come_[place]->key, place);
  seats_.resize(come_.size());
  for (auto& [color, members] : by_color) {
    std::ranges::sort(members);
    std::vector<int> root_ranks;
    for (const auto& [key, place] : members) root_ranks.push_back(root_ranks_[place]);
    const auto clique = std::make_shared<NcclClique>(world_, name_ + "/" + std::to_string(color),
                                                     std::move(root_ranks));
    for (std::size_t member = 0; member < members.size(); ++member)
      seats_[members[member].second] = {clique, static_cast<int>(member)};
  }
}

}  // namespace gang::sim
