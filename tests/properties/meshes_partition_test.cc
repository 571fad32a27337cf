#include "properties/meshes_partition.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

// The real layouts, spoilt by `spoil`.
std::vector<Property> spoilt(void (*spoil)(GangLayout&)) {
  return meshes_partition([spoil](int world, const ParallelSizes& sizes, std::optional<int> node) {
    GangLayout layout = layout_of(world, sizes, node);
    spoil(layout);
    return layout;
  });
}

TEST(MeshesPartition, HoldForEveryFactorisation) {
  for (const Property& property : meshes_partition()) {
    const CheckResult result = property.check({.max_world = 8});
    EXPECT_TRUE(result.held()) << property.name;
    EXPECT_GT(result.cases, 500U);  // every layout of every world up to 32
  }
}

TEST(MeshesPartition, ARankOutsideTheWorldIsCaughtInTheSmallestWorld) {
  const auto properties =
      spoilt([](GangLayout& layout) { layout.gangs["dp"].back().back() = layout.world_size; });
  const Counterexample found =
      expect_caught(properties, "axes_of_a_mesh_partition_the_root", "which is outside 0 … 0");
  EXPECT_EQ(found.text, "world 1, pp 1, dp 1, tp 1");
}

TEST(MeshesPartition, ARankInTwoGangsIsCaught) {
  const auto properties = spoilt([](GangLayout& layout) {
    if (layout.gangs["pp"].size() > 2) layout.gangs["pp"][1] = layout.gangs["pp"][0];
  });
  const Counterexample found =
      expect_caught(properties, "axes_of_a_mesh_partition_the_root", "rank 0 is in pp[0] and in");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 3,"));
}

TEST(MeshesPartition, AxesThatCoincideAreCaught) {
  const auto properties =
      spoilt([](GangLayout& layout) { layout.gangs["tp"] = layout.gangs["dp"]; });
  expect_caught(properties, "gangs_of_two_axes_meet_in_at_most_one_rank", "share 2 ranks");
}

TEST(MeshesPartition, AGangOfAnotherSizeIsCaught) {
  const auto properties =
      spoilt([](GangLayout& layout) { layout.gangs["sdp"] = layout.gangs["dp"]; });
  expect_caught(properties, "gangs_have_the_sizes_of_their_axes", "has 2 members, expected 1");
}

TEST(MeshesPartition, ColumnMajorOrderIsCaught) {
  const auto properties = spoilt([](GangLayout& layout) {
    if (layout.gangs["tp"].size() != layout.gangs["dp"].size()) return;
    std::swap(layout.gangs["tp"], layout.gangs["dp"]);
  });
  const Counterexample found = expect_caught(properties, "tp_is_adjacent_and_axes_are_row_major");
  EXPECT_EQ(found.text, "world 4, pp 1, dp 2, tp 2");
}

TEST(MeshesPartition, ARank0ThatDoesNotLeadIsCaught) {
  const auto properties = spoilt([](GangLayout& layout) {
    for (auto& gang : layout.gangs["pp"]) std::ranges::reverse(gang);
  });
  expect_caught(properties, "rank_0_is_rank_0_everywhere", "rank 0 of the root is rank 1 of pp");
}

TEST(MeshesPartition, AnRdpGangThatLeavesItsDpGangIsCaught) {
  const auto properties =
      spoilt([](GangLayout& layout) { layout.gangs["rdp"] = layout.gangs["root"]; });
  expect_caught(properties, "rdp_and_sdp_divide_dp", "leaves its dp gang");
}

}  // namespace
}  // namespace gang::properties
