#include "harness/program_file/step_folding.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "harness/program_file/program_file.h"

namespace gang::harness::program_file {
namespace {

using Steps = std::vector<std::uint32_t>;

// What `rank` does in these blocks, as the interpreter of program files reads them.
void expand(const std::vector<FoldedBlock>& blocks, Variables variables, Steps& steps) {
  for (const FoldedBlock& block : blocks) {
    const auto rank = static_cast<int>(variables.rank);
    if (!block.ranks.empty() && !std::ranges::binary_search(block.ranks, rank)) continue;
    const std::int64_t outer = variables.iteration;
    for (std::uint32_t i = 0; i < block.repeat; ++i) {
      if (block.repeat > 1) variables.iteration = i;
      if (!block.when.empty()) {
        Tokens tokens(block.when, {});
        const Expression condition = Expression::parse(tokens);
        tokens.expect_end();
        if (condition.evaluate(variables) == 0) continue;
      }
      steps.insert(steps.end(), block.steps.begin(), block.steps.end());
      expand(block.blocks, variables, steps);
    }
    variables.iteration = outer;
  }
}

std::vector<Steps> expanded(const std::vector<FoldedBlock>& blocks, std::size_t ranks) {
  std::vector<Steps> all(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    expand(blocks, {.rank = static_cast<std::int64_t>(rank), .world = 8}, all[rank]);
  return all;
}

Steps repeated(const Steps& body, std::size_t times) {
  Steps steps;
  for (std::size_t i = 0; i < times; ++i) steps.insert(steps.end(), body.begin(), body.end());
  return steps;
}

TEST(StepFolding, ALoopIsOneBlock) {
  const std::vector<FoldedBlock> blocks = fold_steps({repeated({1, 2, 3}, 50)});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 50U);
  EXPECT_EQ(blocks[0].steps, (Steps{1, 2, 3}));
  EXPECT_TRUE(blocks[0].ranks.empty());
}

TEST(StepFolding, LoopsAreNested) {
  Steps body = repeated({7}, 6);
  body.push_back(8);
  const std::vector<FoldedBlock> blocks = fold_steps({repeated(body, 9)});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 9U);
  ASSERT_EQ(blocks[0].blocks.size(), 2U);
  EXPECT_EQ(blocks[0].blocks[0].repeat, 6U);
  EXPECT_EQ(blocks[0].blocks[1].steps, Steps{8});
}

TEST(StepFolding, TwoCallsAreNoLoop) {
  const std::vector<FoldedBlock> blocks = fold_steps({{1, 1}});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 1U);
  EXPECT_EQ(blocks[0].steps, (Steps{1, 1}));
}

TEST(StepFolding, ARankThatSkipsACallIsACondition) {
  std::vector<Steps> ranks(4, repeated({1, 2}, 10));
  ranks[2].erase(ranks[2].begin() + 15);  // the second call of iteration 7
  const std::vector<FoldedBlock> blocks = fold_steps(ranks);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 10U);
  EXPECT_EQ(blocks[0].steps, Steps{1});
  ASSERT_EQ(blocks[0].blocks.size(), 1U);
  EXPECT_EQ(blocks[0].blocks[0].when, "(rank != 2 or iteration != 7)");
  EXPECT_EQ(blocks[0].blocks[0].steps, Steps{2});
  EXPECT_EQ(expanded(blocks, 4), ranks);
}

TEST(StepFolding, RanksOfOneStageShareALoop) {
  std::vector<Steps> ranks(4, repeated({1, 2}, 5));
  ranks[0] = ranks[1] = repeated({1, 3}, 5);
  const std::vector<FoldedBlock> blocks = fold_steps(ranks);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 5U);
  ASSERT_EQ(blocks[0].blocks.size(), 2U);
  EXPECT_EQ(expanded(blocks, 4), ranks);
}

TEST(StepFolding, ALoopOfSeveralStepsMayBeTheBodyOfAnother) {
  Steps body = repeated({1, 2}, 3);
  body.push_back(3);
  const std::vector<FoldedBlock> blocks = fold_steps({repeated(body, 3)});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].repeat, 3U);
  ASSERT_EQ(blocks[0].blocks.size(), 2U);
  EXPECT_EQ(blocks[0].blocks[0].repeat, 3U);
  EXPECT_EQ(blocks[0].blocks[0].steps, (Steps{1, 2}));
}

TEST(StepFolding, ThreeCallsOrTwoPairsAreALoop) {
  EXPECT_EQ(fold_steps({{1, 1, 1}}).at(0).repeat, 3U);
  EXPECT_EQ(fold_steps({{1, 2, 1, 2}}).at(0).repeat, 2U);
}

TEST(StepFolding, InAShortLoopRanksDoTheSameOrThereIsNone) {
  std::vector<Steps> ranks(4, repeated({1, 2}, 3));
  ranks[2].erase(ranks[2].begin() + 3);
  const std::vector<FoldedBlock> blocks = fold_steps(ranks);
  for (const FoldedBlock& block : blocks) EXPECT_EQ(block.repeat, 1U);
  EXPECT_EQ(expanded(blocks, 4), ranks);
}

TEST(StepFolding, WhatIsFoldedIsWhatWasDone) {
  std::mt19937_64 random(7);
  const auto below = [&random](std::uint64_t most) {
    return static_cast<std::uint32_t>(random() % most);
  };
  for (int one = 0; one < 500; ++one) {
    Steps shared;
    for (std::uint32_t part = 0; part <= below(3); ++part) {
      Steps body;
      for (std::uint32_t i = 0; i <= below(4); ++i) body.push_back(below(4));
      const Steps loop = repeated(body, 1 + below(6));
      shared.insert(shared.end(), loop.begin(), loop.end());
    }
    std::vector<Steps> ranks(1 + below(6), shared);
    for (Steps& steps : ranks)
      for (std::uint32_t change = 0; change < below(3); ++change) {
        const auto place = static_cast<std::ptrdiff_t>(below(steps.size() + 1));
        if (below(2) == 0 || place == std::ssize(steps))
          steps.insert(steps.begin() + place, below(5));
        else
          steps.erase(steps.begin() + place);
      }
    ASSERT_EQ(expanded(fold_steps(ranks), ranks.size()), ranks) << "case " << one;
  }
}

}  // namespace
}  // namespace gang::harness::program_file
