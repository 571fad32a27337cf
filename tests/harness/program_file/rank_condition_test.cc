#include "harness/program_file/rank_condition.h"

#include <gtest/gtest.h>

#include "harness/program_file/expression.h"

namespace gang::harness::program_file {
namespace {

const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};

TEST(RankCondition, IsShortWhereOneRankDiffersOnce) {
  EXPECT_EQ(rank_condition(all, all, {{7, {0, 1, 3, 4, 5, 6, 7}}}),
            "(rank != 2 or iteration != 7)");
  EXPECT_EQ(rank_condition(all, all, {{7, {}}}), "iteration != 7");
  EXPECT_EQ(rank_condition(all, {}, {{3, {5}}}), "(iteration == 3 and rank == 5)");
}

TEST(RankCondition, HoldsForTheRanksThatItNames) {
  const std::vector<std::vector<int>> sets = {
      {}, {3}, {0, 2, 4, 6}, {0, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7}, {0, 1, 4, 7}, all};
  for (const std::vector<int>& usual : sets)
    for (const std::vector<int>& other : sets)
      for (const std::vector<int>& third : sets) {
        if (usual == other || usual == third) continue;
        const std::string text = rank_condition(all, usual, {{2, other}, {4, third}});
        Tokens tokens(text, {});
        const Expression condition = Expression::parse(tokens);
        tokens.expect_end();
        for (const int rank : all)
          for (int iteration = 0; iteration < 6; ++iteration) {
            const auto& ranks = iteration == 2 ? other : iteration == 4 ? third : usual;
            EXPECT_EQ(condition.evaluate({.rank = rank, .world = 8, .iteration = iteration}) != 0,
                      std::ranges::count(ranks, rank) == 1)
                << text << " rank " << rank << " iteration " << iteration;
          }
      }
}

TEST(RankCondition, OfNoRanksHoldsNowhere) {
  EXPECT_EQ(rank_condition(all, {}, {}), "0");
  EXPECT_EQ(rank_condition(all, {}, {{2, {}}}), "0");
}

}  // namespace
}  // namespace gang::harness::program_file
