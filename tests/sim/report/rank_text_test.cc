#include "sim/report/rank_text.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(RankText, OneRankAndSeveral) {
  EXPECT_EQ(ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks_text({0, 1, 2, 3, 8}), "ranks 0-3,8");
  EXPECT_EQ(ranks_do({3}, "waits", "wait"), "rank 3 waits");
  EXPECT_EQ(ranks_do({1, 2}, "waits", "wait"), "ranks 1-2 wait");
  EXPECT_EQ(capitalised("rank 3"), "Rank 3");
}

}  // namespace
}  // namespace gang::sim
