#include "harness/pipeline/stage_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "harness/training/model.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const training::ModelSpecification four_linears = training::mlp({.hidden = 8, .linears = 4});

std::vector<std::string> firsts_of(const std::vector<StageLayers>& stages) {
  std::vector<std::string> names;
  for (const StageLayers& stage : stages) names.push_back(stage.front().name);
  return names;
}

std::string refusal(int stages, std::string_view specification) {
  try {
    split_stages(four_linears.layers, stages, specification);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(StageSplit, IsEvenByDefault) {
  EXPECT_THAT(firsts_of(split_stages(four_linears.layers, 4)),
              ElementsAre("linear0", "linear1", "linear2", "linear3"));
  EXPECT_THAT(firsts_of(split_stages(four_linears.layers, 2)), ElementsAre("linear0", "linear2"));
}

TEST(StageSplit, BeginsStagesWithTheNamedLayers) {
  const auto stages = split_stages(four_linears.layers, 3, "relu0,linear3");
  EXPECT_THAT(firsts_of(stages), ElementsAre("linear0", "relu0", "linear3"));
  EXPECT_EQ(stages[0].size(), 1U);
  EXPECT_EQ(stages[1].size(), 5U);
  EXPECT_EQ(stages[2].size(), 1U);
}

TEST(StageSplit, SaysWhatIsPossible) {
  EXPECT_THAT(refusal(2, "linear9"), HasSubstr("split: layer 'linear9' is unknown"));
  EXPECT_THAT(refusal(2, "linear0"), HasSubstr("leaves stage 0 empty"));
  EXPECT_THAT(refusal(3, "linear2,linear2"), HasSubstr("leaves stage 1 empty"));
  EXPECT_THAT(refusal(3, "linear2,linear1"), HasSubstr("leaves stage 1 empty"));
  EXPECT_THAT(refusal(3, "linear2"), HasSubstr("names 1 layers; must name 2"));
  EXPECT_THAT(refusal(1, "linear2"), HasSubstr("names 1 layers; must name 0"));
  EXPECT_THAT(refusal(3, "linear2,"), HasSubstr("'' is unknown"));
  EXPECT_THAT(refusal(8, ""), HasSubstr("must be 1 to 7"));
  EXPECT_THAT(refusal(0, ""), HasSubstr("must be 1 to 7"));
}

TEST(StageSplit, ABoundaryWithinAPairIsAPart) {
  const StageLayers layers = four_linears.layers;
  EXPECT_EQ(boundary_rows(layers.first(1), 2), 4);  // linear0 divides its outputs
  EXPECT_EQ(boundary_rows(layers.first(2), 2), 4);  // relu0 goes on so
  EXPECT_EQ(boundary_rows(layers.first(3), 2), 8);  // linear1 adds the parts up
  EXPECT_EQ(boundary_rows(layers.first(3), 1), 8);
}

TEST(StageSplit, CountsTheParametersOfEveryLayer) {
  const auto language_model = training::transformer({.blocks = 2});
  for (const auto* model : {&four_linears, &language_model}) {
    training::Model built(model->layers, training::build_options(*model, 1));
    EXPECT_EQ(parameter_elements(model->layers, 1), built.element_count());
  }
}

TEST(StageSplit, KnowsTheCallsOfTensorParallelLayers) {
  const auto forward = forward_calls(four_linears.layers, 3);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(forward[0].label, "linear1");
  EXPECT_EQ(forward[0].count, 24);
  EXPECT_EQ(forward[1].count, 12);  // four outputs
  const auto backward = backward_calls(four_linears.layers, 3);
  ASSERT_EQ(backward.size(), 2U);
  EXPECT_EQ(backward[0].label, "linear2");
  EXPECT_EQ(backward[1].label, "linear0");
}

TEST(StageSplit, CountsTheParametersOfOneRankOfTp) {
  const auto language_model = training::transformer({.blocks = 2});
  for (const auto* model : {&four_linears, &language_model}) {
    const auto tp = make_fake_gang({.rank = 1, .size = 2, .name = "tp"});
    training::Model built(model->layers, training::build_options(*model, 1, tp));
    EXPECT_EQ(parameter_elements(model->layers, 2), built.element_count());
  }
}

TEST(StageSplit, ABoundaryAfterAnActivationIsThatOfTheLayerBeforeIt) {
  const auto language_model = training::transformer({.blocks = 1});
  const StageLayers layers = language_model.layers;
  const auto gelu =
      std::ranges::find(layers, training::LayerKind::gelu, &training::LayerSpecification::kind);
  ASSERT_NE(gelu, layers.end());
  const auto before = static_cast<std::size_t>(gelu - layers.begin());
  EXPECT_EQ(boundary_rows(layers.first(before), 2), gelu->outputs / 2);
  EXPECT_EQ(boundary_rows(layers.first(before + 1), 2), gelu->outputs / 2);
}

}  // namespace
}  // namespace gang::harness
