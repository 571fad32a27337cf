#include "sim/text/rank_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using testing::ElementsAre;

TEST(RankRanges, FoldsRunsAndStrides) {
  EXPECT_EQ(to_rank_ranges({}), "");
  EXPECT_EQ(to_rank_ranges({7}), "7");
  EXPECT_EQ(to_rank_ranges({0, 1}), "0-1");
  EXPECT_EQ(to_rank_ranges({0, 2}), "0,2");
  EXPECT_EQ(to_rank_ranges({0, 1, 2, 3, 8, 10, 12, 14}), "0-3,8-14:2");
  EXPECT_EQ(to_rank_ranges({0, 1, 2, 3, 8, 20, 22, 24}), "0-3,8,20-24:2");
  EXPECT_EQ(to_rank_ranges({0, 4, 8, 12}), "0-12:4");
}

TEST(RankRanges, AreValuesToo) {
  EXPECT_THAT(rank_ranges({0, 1, 2, 8, 10, 12}),
              ElementsAre(RankRange{0, 2, 1}, RankRange{8, 12, 2}));
  EXPECT_THAT(rank_ranges({4}), ElementsAre(RankRange{4, 4, 1}));
}

TEST(RankRanges, KeepsAtMostSoMany) {
  EXPECT_EQ(to_rank_ranges({0, 5, 7, 20}, 2), "0,5,...");
  EXPECT_EQ(to_rank_ranges({0, 5}, 2), "0,5");
}

}  // namespace
}  // namespace gang::sim
