#include "harness/training/model_specification.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness::training {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelSpecification, AnMlpChainsItsSizes) {
  const ModelSpecification model = mlp({.inputs = 3, .hidden = 5, .outputs = 2, .linears = 3});
  ASSERT_EQ(model.layers.size(), 5U);
  for (std::size_t i = 1; i < model.layers.size(); ++i) {
    EXPECT_EQ(model.layers[i].inputs, model.layers[i - 1].outputs) << model.layers[i].name;
  }
  EXPECT_EQ(model.layers.front().inputs, 3);
  EXPECT_EQ(model.layers.back().outputs, 2);
}

TEST(ModelSpecification, ColumnAndRowParallelLinearLayersAlternate) {
  const ModelSpecification model = mlp({.linears = 3});
  EXPECT_EQ(model.layers[0].split, Split::outputs);
  EXPECT_EQ(model.layers[2].split, Split::inputs);
  EXPECT_EQ(model.layers[4].split, Split::none);
}

TEST(ModelSpecification, ATransformerGoesFromTokensToScores) {
  const ModelSpecification model = transformer({.vocabulary = 12, .width = 6, .heads = 3});
  EXPECT_EQ(model.layers.front().kind, LayerKind::embedding);
  EXPECT_EQ(model.layers.front().inputs, 12);
  EXPECT_EQ(model.layers.back().outputs, 12);
  EXPECT_EQ(model.objective, Objective::cross_entropy);
}

TEST(ModelSpecification, EveryAttentionHasTheHeadsAndTheSequenceOfTheModel) {
  const ModelSpecification model = transformer({.heads = 2, .blocks = 3, .sequence = 7});
  int attentions = 0;
  for (const LayerSpecification& layer : model.layers) {
    if (layer.kind != LayerKind::attention) continue;
    ++attentions;
    EXPECT_EQ(layer.heads, 2) << layer.name;
    EXPECT_EQ(layer.sequence, 7) << layer.name;
  }
  EXPECT_EQ(attentions, 3);
}

TEST(ModelSpecification, TensorParallelSizesDivideEverythingThatIsSplit) {
  EXPECT_THAT(possible_tp_sizes(mlp({.hidden = 12}).layers), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(possible_tp_sizes(transformer({.heads = 4}).layers), ElementsAre(1, 2, 4));
}

TEST(ModelSpecification, ARejectedTensorParallelSizeComesWithThePossibleOnes) {
  try {
    check_tp_size(transformer({.vocabulary = 15, .width = 8, .heads = 4}).layers, 2);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("tp 2 does not divide the 15 tokens of the vocabulary of embedding"));
    EXPECT_THAT(error.what(), HasSubstr("must be one of: 1"));
  }
  EXPECT_THROW(check_tp_size(mlp().layers, 0), InvalidArgument);
  EXPECT_NO_THROW(check_tp_size(mlp().layers, 16));
}

TEST(ModelSpecification, LayersAreSplitIntoConsecutiveParts) {
  const ModelSpecification model = mlp({.linears = 4});
  std::vector<std::size_t> sizes;
  for (const auto part : split_evenly(model.layers, 3)) sizes.push_back(part.size());
  EXPECT_THAT(sizes, ElementsAre(3, 2, 2));
  EXPECT_EQ(split_evenly(model.layers, 3)[1].front(), model.layers[3]);
  EXPECT_THROW(split_evenly(model.layers, 8), InvalidArgument);
  EXPECT_THROW(split_evenly(model.layers, 0), InvalidArgument);
}

TEST(ModelSpecification, ATransformerHasItsLayersInOrderAndByName) {
  const ModelSpecification model = transformer({.blocks = 3});
  std::vector<LayerKind> kinds;
  std::set<std::string> names;
  for (const LayerSpecification& layer : model.layers) {
    kinds.push_back(layer.kind);
    names.insert(layer.name);
  }
  EXPECT_EQ(names.size(), model.layers.size());
  ASSERT_EQ(kinds.size(), 1U + 3 * 6 + 1);
  kinds.resize(7);
  EXPECT_THAT(kinds, ElementsAre(LayerKind::embedding, LayerKind::attention, LayerKind::layer_norm,
                                 LayerKind::linear, LayerKind::gelu, LayerKind::linear,
                                 LayerKind::layer_norm));
  EXPECT_EQ(model.layers.back().kind, LayerKind::linear);
  EXPECT_EQ(model.layers.back().split, Split::outputs);
}

TEST(ModelSpecification, ThePossibleSizesAreThoseOfTheWholeModel) {
  const std::vector<LayerSpecification> layers = {
      {.name = "narrow", .inputs = 15, .outputs = 2, .split = Split::inputs},
      {.name = "wide", .inputs = 2, .outputs = 8, .split = Split::outputs}};
  EXPECT_THAT([&] { check_tp_size(layers, 2); },
              testing::ThrowsMessage<InvalidArgument>(
                  "tp 2 does not divide the 15 inputs of narrow; must be one of: 1"));
}

TEST(ModelSpecification, EveryLayerMayBeAPart) {
  const ModelSpecification model = mlp({.linears = 4});
  for (const auto part : split_evenly(model.layers, 7)) EXPECT_EQ(part.size(), 1U);
}

}  // namespace
}  // namespace gang::harness::training
