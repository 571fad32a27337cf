#include "harness/program_file/shared_steps.h"

#include <gtest/gtest.h>

namespace gang::harness::program_file {
namespace {

TEST(SharedSteps, RanksThatDoTheSameShareOneList) {
  const std::vector<SharedSteps> shared = share_steps({{1, 2}, {1, 2}, {1, 2}});
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_TRUE(shared[0].are_all_ranks);
  EXPECT_EQ(shared[0].ranks(), (std::vector{0, 1, 2}));
  EXPECT_EQ(shared[0].steps.size(), 2U);
}

TEST(SharedSteps, AStepBelongsToThoseWhoDoIt) {
  const std::vector<SharedSteps> shared = share_steps({{1, 2, 3}, {1, 3}, {1, 2, 3, 4}});
  ASSERT_EQ(shared.size(), 1U);
  std::vector<std::uint32_t> steps;
  std::vector<std::vector<int>> owners;
  for (const SharedSteps::Step& step : shared[0].steps) {
    steps.push_back(step.step);
    owners.push_back(shared[0].sets[step.ranks]);
  }
  EXPECT_EQ(steps, (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(owners, (std::vector<std::vector<int>>{{0, 1, 2}, {0, 2}, {0, 1, 2}, {2}}));
}

TEST(SharedSteps, RanksThatHaveLittleInCommonDoNot) {
  const std::vector<SharedSteps> shared = share_steps({{1, 2, 3}, {4, 5, 6}, {4, 5, 6}, {}});
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].ranks(), (std::vector{1, 2}));
  EXPECT_EQ(shared[1].ranks(), std::vector{0});
  EXPECT_FALSE(shared[0].are_all_ranks);
}

TEST(SharedSteps, LessThanHalfIsLittle) {
  EXPECT_EQ(share_steps({{1, 2, 3, 4, 5}, {1, 2, 3, 6, 7}}).size(), 1U);
  EXPECT_EQ(share_steps({{1, 2, 3, 4, 5}, {1, 2, 6, 7, 8}}).size(), 2U);
}

}  // namespace
}  // namespace gang::harness::program_file
