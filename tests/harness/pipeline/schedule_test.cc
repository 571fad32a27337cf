#include "harness/pipeline/schedule.h"

#include <set>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(Schedule, HasAShortForm) {
  EXPECT_EQ(to_string(StagePass{2, 0, Pass::forward}), "2F0");
  EXPECT_EQ(to_string(StagePass{0, 13, Pass::backward_weight}), "0W13");
  EXPECT_EQ(to_string(PipelineSizes{4, 1, 8}), "4 ranks, 1 stage per rank, 8 microbatches");
  EXPECT_EQ(to_string(PipelineSizes{1, 2, 1}), "1 rank, 2 stages per rank, 1 microbatch");
}

TEST(Schedule, DealsStagesToRanksInTurn) {
  const PipelineSizes sizes{.ranks = 3, .stages_per_rank = 2, .microbatches = 1};
  EXPECT_EQ(sizes.stages(), 6);
  EXPECT_EQ(sizes.rank_of(2), 2);
  EXPECT_EQ(sizes.rank_of(3), 0);
}

TEST(Schedule, ABackwardPassTakesAsLongAsItsParts) {
  EXPECT_EQ(duration_of(Pass::backward),
            duration_of(Pass::backward_input) + duration_of(Pass::backward_weight));
}

TEST(Schedule, NumbersEveryPassOnce) {
  const PipelineSizes sizes{.ranks = 2, .stages_per_rank = 2, .microbatches = 3};
  std::set<std::size_t> numbers;
  for (int stage = 0; stage < sizes.stages(); ++stage)
    for (int microbatch = 0; microbatch < 3; ++microbatch)
      for (const Pass pass : all_passes) numbers.insert(index_of({stage, microbatch, pass}, sizes));
  EXPECT_EQ(numbers.size(), pass_count(sizes));
  EXPECT_EQ(*numbers.rbegin(), pass_count(sizes) - 1);
}

}  // namespace
}  // namespace gang::harness
