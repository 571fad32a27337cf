#include "gang/gang_layout.h"

#include <algorithm>
#include <cstdint>

#include "gang/error.h"

namespace gang {
namespace {

using RankLists = std::vector<std::vector<int>>;

void check_size(std::string_view name, int size) {
  if (size < 1)
    throw InvalidArgument(std::string(name) + " is " + std::to_string(size) +
                          "; must be 1 or more");
}

RankLists singles(int world_size) {
  RankLists lists;
  lists.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) lists.push_back({rank});
  return lists;
}

// Each of `parents` cut along `axis` of a mesh over its members.
RankLists lines_within(const RankLists& parents, const Mesh& mesh, std::string_view axis) {
  const RankLists lines = mesh.lines(axis);
  RankLists result;
  for (const std::vector<int>& parent : parents) {
    for (const std::vector<int>& line : lines) {
      std::vector<int>& ranks = result.emplace_back();
      for (const int member : line) ranks.push_back(parent[static_cast<std::size_t>(member)]);
    }
  }
  std::ranges::sort(result, {}, [](const std::vector<int>& ranks) { return ranks.front(); });
  return result;
}

}  // namespace

Mesh parallel_mesh(int world_size, const ParallelSizes& sizes) {
  check_size("world size", world_size);
  check_size("tp_size", sizes.tp_size);
  check_size("pp_size", sizes.pp_size);
  const std::int64_t others = std::int64_t{sizes.tp_size} * sizes.pp_size;
  if (world_size % others != 0)
    throw InvalidArgument("tp_size " + std::to_string(sizes.tp_size) + " times pp_size " +
                          std::to_string(sizes.pp_size) + " is " + std::to_string(others) +
                          ", which does not divide " + std::to_string(world_size) +
                          " ranks; the product must divide the number of ranks");
  const int dp_size = world_size / static_cast<int>(others);
  return Mesh({{"pp", sizes.pp_size}, {"dp", dp_size}, {"tp", sizes.tp_size}});
}

Mesh fsdp_mesh(int dp_size, int intra_node_size) {
  if (intra_node_size <= 1 || dp_size % intra_node_size != 0)
    throw InvalidArgument("intra_node_size is " + std::to_string(intra_node_size) +
                          " with a dp gang of " + std::to_string(dp_size) +
                          " ranks; must be a divisor of " + std::to_string(dp_size) +
                          " greater than 1");
  return Mesh({{"rdp", dp_size / intra_node_size}, {"sdp", intra_node_size}});
}

GangLayout layout_of(int world_size, const ParallelSizes& sizes,
                     std::optional<int> intra_node_size) {
  const Mesh mesh = parallel_mesh(world_size, sizes);
  const Mesh root({{"root", world_size}});
  GangLayout layout;
  layout.world_size = world_size;
  layout.gangs["root"] = root.lines("root");
  for (const std::string axis : {"dp", "tp", "pp"}) layout.gangs[axis] = mesh.lines(axis);
  const RankLists& dp = layout.gangs["dp"];
  if (intra_node_size) {
    const Mesh within = fsdp_mesh(mesh.axis_size("dp"), *intra_node_size);
    layout.gangs["rdp"] = lines_within(dp, within, "rdp");
    layout.gangs["sdp"] = lines_within(dp, within, "sdp");
  } else {
    layout.gangs["rdp"] = dp;
    layout.gangs["sdp"] = singles(world_size);
  }
  return layout;
}

}  // namespace gang
