#include "sim/matching/named_gangs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/state/world.h"
#include "sim/text/rank_ranges.h"

namespace gang::sim {
namespace {

void check_members(const GangInfo& info, int world_size) {
  std::vector<int> sorted = info.root_ranks;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    throw InvalidArgument(fmt::format("gang '{}': a rank is given twice; ranks must be unique: {}",
                                      info.name, fmt::join(info.root_ranks, ", ")));
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= world_size))
    throw InvalidArgument(fmt::format("gang '{}': ranks are {}; must be 0 to {}", info.name,
                                      fmt::join(info.root_ranks, ", "), world_size - 1));
}

}  // namespace

std::shared_ptr<Gang> NamedGangs::join(GangInfo info, std::string_view key, int rank,
                                       const CallSite& call_site, std::uint64_t first_sequence) {
  world_.engine.check_running();
  check_members(info, world_.options.world_size);
  const auto place = std::ranges::find(info.root_ranks, rank);
  if (place == info.root_ranks.end())
    throw InvalidArgument(fmt::format("gang '{}': rank {} is not one of its members: {}", info.name,
                                      rank, to_rank_ranges(info.root_ranks)));
  const int member = static_cast<int>(place - info.root_ranks.begin());
  std::weak_ptr<GangState>& known = gangs_[{std::string(key), info.root_ranks}];
  std::shared_ptr<GangState> state = known.lock();
  if (state == nullptr) {
    info.size = static_cast<int>(info.root_ranks.size());
    if (const int number = ++made_[{info.name, info.root_ranks}]; number > 1)
      info.name += fmt::format(" ({})", number);
    known = state = world_.matching.make_gang(std::move(info), first_sequence);
  }
  state->making_places.note(member, call_site);
  return std::make_shared<SimGang>(std::move(state), member, world_.rank(rank));
}

}  // namespace gang::sim
