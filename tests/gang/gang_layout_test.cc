#include "gang/gang_layout.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/factorizations.h"

namespace gang {
namespace {

using RankLists = std::vector<std::vector<int>>;

TEST(GangLayout, EightRanksWithTwoTensorParallel) {
  const GangLayout layout = layout_of(8, {.tp_size = 2});
  EXPECT_EQ(layout.world_size, 8);
  EXPECT_EQ(layout.gangs.at("root"), (RankLists{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(layout.gangs.at("tp"), (RankLists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(layout.gangs.at("dp"), (RankLists{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(layout.gangs.at("rdp"), layout.gangs.at("dp"));
  EXPECT_EQ(layout.gangs.at("sdp"), (RankLists{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
  EXPECT_EQ(layout.gangs.at("pp"), layout.gangs.at("sdp"));
  EXPECT_EQ(layout.gangs.size(), 6u);
}

TEST(GangLayout, PipelineStagesAreFarthestApart) {
  const GangLayout layout = layout_of(8, {.tp_size = 2, .pp_size = 2});
  EXPECT_EQ(layout.gangs.at("pp"), (RankLists{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(layout.gangs.at("dp"), (RankLists{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(layout.gangs.at("tp"), (RankLists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

// fairseq2's F4: ranks of dp were read as ranks of the world, which made wrong gangs when tp > 1.
TEST(GangLayout, ShardedGangsAreConsecutiveRanksOfDpForAnyTp) {
  const GangLayout layout = layout_of(16, {.tp_size = 2}, 4);
  EXPECT_EQ(layout.gangs.at("sdp"),
            (RankLists{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}}));
  EXPECT_EQ(layout.gangs.at("rdp"),
            (RankLists{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}}));
}

TEST(GangLayout, AnIntraNodeSizeOfAllOfDpLeavesNothingToReplicate) {
  const GangLayout layout = layout_of(4, {}, 4);
  EXPECT_EQ(layout.gangs.at("sdp"), (RankLists{{0, 1, 2, 3}}));
  EXPECT_EQ(layout.gangs.at("rdp"), (RankLists{{0}, {1}, {2}, {3}}));
}

void expect_partition(const GangLayout& layout, const std::string& name) {
  std::vector<int> all;
  for (const std::vector<int>& ranks : layout.gangs.at(name)) {
    ASSERT_FALSE(ranks.empty());
    ASSERT_TRUE(std::ranges::is_sorted(ranks)) << name;
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
  std::ranges::sort(all);
  std::vector<int> expected(static_cast<std::size_t>(layout.world_size));
  std::iota(expected.begin(), expected.end(), 0);
  ASSERT_EQ(all, expected) << name;
  ASSERT_EQ(layout.gangs.at(name).front().front(), 0) << "rank 0 is rank 0 of " << name;
}

void expect_meet_at_most_once(const GangLayout& layout, const std::string& first,
                              const std::string& second) {
  for (const std::vector<int>& a : layout.gangs.at(first)) {
    for (const std::vector<int>& b : layout.gangs.at(second)) {
      std::vector<int> both;
      std::ranges::set_intersection(a, b, std::back_inserter(both));
      ASSERT_LE(both.size(), 1u) << first << " and " << second;
    }
  }
}

TEST(GangLayoutLaws, GangsOfAnAxisPartitionAndTwoAxesMeetAtMostOnce) {
  for (int world = 1; world <= 24; ++world) {
    for (const std::vector<int>& sizes : test::factorizations(world, 4)) {
      const auto [pp, rdp, sdp, tp] = std::tuple(sizes[0], sizes[1], sizes[2], sizes[3]);
      const GangLayout layout = layout_of(world, {.tp_size = tp, .pp_size = pp},
                                          sdp > 1 ? std::optional(sdp) : std::nullopt);
      for (const auto& [name, gangs] : layout.gangs) expect_partition(layout, name);
      for (const auto& [first, second] :
           {std::pair("dp", "tp"), {"dp", "pp"}, {"tp", "pp"}, {"rdp", "sdp"}, {"sdp", "tp"}})
        expect_meet_at_most_once(layout, first, second);
      ASSERT_EQ(layout.gangs.at("tp").front().size(), static_cast<std::size_t>(tp));
      ASSERT_EQ(layout.gangs.at("pp").front().size(), static_cast<std::size_t>(pp));
      ASSERT_EQ(layout.gangs.at("sdp").front().size(), static_cast<std::size_t>(sdp));
    }
  }
}

TEST(GangLayout, SizesThatDoNotDivideAreRefused) {
  for (const auto& [tp, pp] : {std::pair(3, 1), {1, 3}, {0, 1}, {1, 0}, {-2, 1}, {16, 1}, {4, 4}})
    EXPECT_THROW(layout_of(8, {.tp_size = tp, .pp_size = pp}), InvalidArgument) << tp << " " << pp;
  EXPECT_THROW(layout_of(0, {}), InvalidArgument);
  EXPECT_EQ(test::message_of<InvalidArgument>([] { layout_of(8, {.tp_size = 3, .pp_size = 2}); }),
            "tp_size 3 times pp_size 2 is 6, which does not divide 8 ranks; the product "
            "must divide the number of ranks");
  EXPECT_THROW(layout_of(8, {.tp_size = 65536, .pp_size = 65536}), InvalidArgument)
      << "the product does not fit in an int";
}

TEST(GangLayout, IntraNodeSizesDivideDpAndExceedOne) {
  for (const int intra : {1, 0, -2, 3, 8})
    EXPECT_THROW(layout_of(8, {.tp_size = 2}, intra), InvalidArgument) << intra;
  EXPECT_EQ(
      test::message_of<InvalidArgument>([] { layout_of(8, {.tp_size = 2}, 3); }),
      "intra_node_size is 3 with a dp gang of 4 ranks; must be a divisor of 4 greater than 1");
}

}  // namespace
}  // namespace gang
