#include "harness/pipeline/hybrid_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const HybridOptions& options) {
  try {
    make_hybrid_plan(options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(HybridPlan, FillsInDefaults) {
  const HybridPlan plan = make_hybrid_plan({.world_size = 8, .pp = 2, .tp = 2});
  EXPECT_EQ(plan.dp, 2);
  EXPECT_EQ(plan.sizes(), (PipelineSizes{2, 1, 4}));
  EXPECT_EQ(plan.options.layers, 4);
  EXPECT_EQ(plan.training.samples, 8);
  EXPECT_EQ(plan.training.model.numbers, training::Numbers::exact);
  EXPECT_THAT(plan.peak_activations, ElementsAre(2, 1));
}

TEST(HybridPlan, InterleavedRanksHaveTwoStages) {
  const HybridPlan plan =
      make_hybrid_plan({.world_size = 2, .pp = 2, .schedule = "interleaved_1f1b"});
  EXPECT_EQ(plan.stages.size(), 4U);
  EXPECT_THAT(plan.stages_of(1), ElementsAre(1, 3));
  EXPECT_EQ(plan.training.model.numbers, training::Numbers::real);  // eight layers
}

TEST(HybridPlan, TheBenchmarkHasThirtyTwoMicrobatches) {
  const HybridPlan plan = make_hybrid_plan({.world_size = 16384, .pp = 16, .tp = 8});
  EXPECT_EQ(plan.dp, 128);
  EXPECT_EQ(plan.sizes().microbatches, 32);
}

TEST(HybridPlan, KnowsTheSizeOfWhatEntersAStage) {
  const HybridPlan plan = make_hybrid_plan(
      {.world_size = 4, .pp = 2, .tp = 2, .split = "relu0", .hidden = 8, .samples = 3});
  EXPECT_EQ(plan.columns(), 3);
  EXPECT_EQ(plan.boundary_count(1), 8 / 2 * 3);
}

TEST(HybridPlan, NamesThePossibleSizes) {
  EXPECT_THAT(refusal({.world_size = 8, .tp = 3}), HasSubstr("must be one of: 1, 2, 4, 8"));
  EXPECT_THAT(refusal({.world_size = 8, .pp = 3, .tp = 2}),
              HasSubstr("pp 3 does not divide world / tp = 4; must be one of: 1, 2, 4"));
  EXPECT_THAT(refusal({.world_size = 8, .intra_node = 1}), HasSubstr("must be one of: 0, 2, 4, 8"));
  EXPECT_THAT(refusal({.world_size = 8, .intra_node = 3}), HasSubstr("must be one of: 0, 2, 4, 8"));
  EXPECT_THAT(refusal({.world_size = 4, .pp = 4, .microbatches = 3}),
              HasSubstr("must be at least 4"));
  EXPECT_THAT(
      refusal({.world_size = 4, .pp = 4, .schedule = "interleaved_1f1b", .microbatches = 6}),
      HasSubstr("must be a multiple of 4, such as 4 or 8"));
  EXPECT_THAT(refusal({.world_size = 4, .pp = 4, .layers = 2}), HasSubstr("must be 1 to 3"));
  EXPECT_THAT(refusal({.world_size = 32, .tp = 32}), HasSubstr("must be one of: 1, 2, 4, 8, 16"));
  EXPECT_THAT(refusal({.world_size = 2, .pp = 2, .split = "linear7"}),
              HasSubstr("'linear7' is unknown"));
  EXPECT_THAT(refusal({.world_size = 1, .model = "transformer", .hidden = 6}),
              HasSubstr("must be a multiple of 4"));
}

TEST(HybridOptions, AreWhatTheParametersSay) {
  const ParameterValues values{hybrid_parameters(),
                               {{"pp", "2"},
                                {"tp", "3"},
                                {"intra_node", "4"},
                                {"schedule", "gpipe"},
                                {"stages_per_rank", "5"},
                                {"microbatches", "6"},
                                {"messages", "one_by_one"},
                                {"split", "linear1"},
                                {"model", "transformer"},
                                {"hidden", "7"},
                                {"layers", "8"},
                                {"samples", "9"},
                                {"steps", "10"},
                                {"data_seed", "11"}}};
  EXPECT_EQ(hybrid_options(12, values), (HybridOptions{.world_size = 12,
                                                       .pp = 2,
                                                       .tp = 3,
                                                       .intra_node = 4,
                                                       .schedule = "gpipe",
                                                       .stages_per_rank = 5,
                                                       .microbatches = 6,
                                                       .messages = SendForm::one_by_one,
                                                       .split = "linear1",
                                                       .model = "transformer",
                                                       .hidden = 7,
                                                       .layers = 8,
                                                       .samples = 9,
                                                       .steps = 10,
                                                       .data_seed = 11}));
  EXPECT_EQ(hybrid_options(1, {hybrid_parameters(), {}}), HybridOptions());
}

TEST(HybridPlan, TrainsWithTheSeedThatIsGivenAndSumsExactlyUpToFourLayers) {
  const HybridPlan plan = make_hybrid_plan({.world_size = 1, .layers = 4, .data_seed = 7});
  EXPECT_EQ(plan.training.seed, 7U);
  EXPECT_EQ(plan.training.model.numbers, training::Numbers::exact);
  EXPECT_EQ(plan.training.sgd.momentum, 0.5);
  EXPECT_EQ(make_hybrid_plan({.world_size = 1, .layers = 5}).training.model.numbers,
            training::Numbers::real);
}

TEST(HybridPlan, GradientsAreShardedOverRanksOfDp) {
  EXPECT_THAT(refusal({.world_size = 8, .tp = 2, .intra_node = 8}),
              HasSubstr("must be one of: 0, 2, 4"));
  EXPECT_EQ(refusal({.world_size = 8, .tp = 2, .intra_node = 4}), "");
}

}  // namespace
}  // namespace gang::harness
