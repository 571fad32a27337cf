#include "properties/meshes_partition.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "properties/generators/layout_case.h"
#include "properties/law.h"

namespace gang::properties {
namespace {

using RankLists = std::vector<std::vector<int>>;

constexpr const char* layout_gangs[] = {"root", "dp", "rdp", "sdp", "tp", "pp"};

// What is wrong with a layout; empty if the law holds.
using CheckLayout = std::string (*)(const LayoutCase&, const GangLayout&);

const RankLists& lists_of(const GangLayout& layout, const char* name) {
  return layout.gangs.at(name);
}

std::string partition_the_root(const LayoutCase& wanted, const GangLayout& layout) {
  for (const char* name : layout_gangs) {
    std::vector<int> holders(static_cast<std::size_t>(wanted.world()), -1);
    const RankLists& gangs = lists_of(layout, name);
    for (std::size_t gang = 0; gang < gangs.size(); ++gang) {
      for (const int rank : gangs[gang]) {
        if (rank < 0 || rank >= wanted.world())
          return fmt::format("gang {}[{}] holds rank {}, which is outside 0 … {}", name, gang, rank,
                             wanted.world() - 1);
        int& holder = holders[static_cast<std::size_t>(rank)];
        if (holder >= 0)
          return fmt::format("rank {} is in {}[{}] and in {}[{}]", rank, name, holder, name, gang);
        holder = static_cast<int>(gang);
      }
    }
    const auto missing = std::ranges::find(holders, -1);
    if (missing != holders.end())
      return fmt::format("no {} gang holds rank {}", name, missing - holders.begin());
  }
  return {};
}

std::string meet_in_one_rank(const LayoutCase&, const GangLayout& layout) {
  constexpr std::pair<const char*, const char*> pairs[] = {
      {"pp", "dp"},  {"pp", "tp"},  {"dp", "tp"},  {"rdp", "sdp"},
      {"rdp", "tp"}, {"sdp", "tp"}, {"rdp", "pp"}, {"sdp", "pp"}};
  for (const auto& [one, other] : pairs) {
    for (const std::vector<int>& a : lists_of(layout, one)) {
      const std::set<int> members(a.begin(), a.end());
      for (const std::vector<int>& b : lists_of(layout, other)) {
        const auto shared =
            std::ranges::count_if(b, [&](int rank) { return members.contains(rank); });
        if (shared > 1)
          return fmt::format("{} [{}] and {} [{}] share {} ranks", one, fmt::join(a, ","), other,
                             fmt::join(b, ","), shared);
      }
    }
  }
  return {};
}

std::string have_their_sizes(const LayoutCase& wanted, const GangLayout& layout) {
  const int node = wanted.intra_node_size.value_or(1);
  const std::pair<const char*, int> sizes[] = {{"root", wanted.world()},  {"dp", wanted.dp},
                                               {"rdp", wanted.dp / node}, {"sdp", node},
                                               {"tp", wanted.tp},         {"pp", wanted.pp}};
  for (const auto& [name, size] : sizes)
    for (const std::vector<int>& gang : lists_of(layout, name))
      if (static_cast<int>(gang.size()) != size)
        return fmt::format("gang {} [{}] has {} members, expected {}", name, fmt::join(gang, ","),
                           gang.size(), size);
  return {};
}

// Neighbours differ by the product of the sizes of the axes after theirs: tp by 1, dp by tp, ...
std::string have_their_strides(const LayoutCase& wanted, const GangLayout& layout) {
  const int node = wanted.intra_node_size.value_or(1);
  const std::pair<const char*, int> strides[] = {{"root", 1},
                                                 {"tp", 1},
                                                 {"dp", wanted.tp},
                                                 {"sdp", wanted.tp},
                                                 {"rdp", wanted.tp * node},
                                                 {"pp", wanted.tp * wanted.dp}};
  for (const auto& [name, stride] : strides) {
    for (const std::vector<int>& gang : lists_of(layout, name)) {
      for (std::size_t i = 1; i < gang.size(); ++i) {
        if (gang[i] - gang[i - 1] == stride) continue;
        return fmt::format("gang {} [{}]: neighbours {} and {} differ by {}, expected {}", name,
                           fmt::join(gang, ","), gang[i - 1], gang[i], gang[i] - gang[i - 1],
                           stride);
      }
    }
  }
  return {};
}

std::string start_with_rank_0(const LayoutCase&, const GangLayout& layout) {
  for (const char* name : layout_gangs) {
    for (const std::vector<int>& gang : lists_of(layout, name)) {
      const auto found = std::ranges::find(gang, 0);
      if (found != gang.end() && found != gang.begin())
        return fmt::format("rank 0 of the root is rank {} of {} [{}]", found - gang.begin(), name,
                           fmt::join(gang, ","));
    }
  }
  return {};
}

// rdp and sdp divide each dp gang between them.
std::string divide_dp(const LayoutCase&, const GangLayout& layout) {
  for (const char* name : {"rdp", "sdp"}) {
    for (const std::vector<int>& part : lists_of(layout, name)) {
      const bool is_inside = std::ranges::any_of(lists_of(layout, "dp"), [&](const auto& dp) {
        return std::ranges::all_of(part,
                                   [&](int rank) { return std::ranges::count(dp, rank) == 1; });
      });
      if (!is_inside) return fmt::format("{} [{}] leaves its dp gang", name, fmt::join(part, ","));
    }
  }
  return {};
}

constexpr LawRow<CheckLayout> partition_laws[] = {
    {"axes_of_a_mesh_partition_the_root", "Every rank is in exactly one gang of every axis.",
     partition_the_root},
    {"gangs_of_two_axes_meet_in_at_most_one_rank", "Gangs of two axes never share two ranks.",
     meet_in_one_rank},
    {"gangs_have_the_sizes_of_their_axes",
     "Gangs have the sizes of their axes; rdp times sdp is dp.", have_their_sizes},
    {"tp_is_adjacent_and_axes_are_row_major",
     "tp neighbours are adjacent, dp neighbours are tp apart, and so on.", have_their_strides},
    {"rank_0_is_rank_0_everywhere", "Rank 0 of the root leads every gang that it is in.",
     start_with_rank_0},
    {"rdp_and_sdp_divide_dp", "Sharding and replication stay within a dp gang.", divide_dp},
};

}  // namespace

std::vector<Property> meshes_partition(const LayoutFunction& layout) {
  const auto enumerate = [](int max_world) { return all_layouts(4 * max_world); };
  return laws_of<LayoutCase>(
      partition_laws, {.suite = "meshes_partition", .enumerate = enumerate},
      [layout](CheckLayout check, const LayoutCase& wanted) {
        return Verdict::holds_unless(
            check(wanted, layout(wanted.world(), wanted.sizes(), wanted.intra_node_size)));
      });
}

}  // namespace gang::properties
