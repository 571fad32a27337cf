#include "gang/error.h"
#include "gang/fake_gang.h"
#include "harness/gtest_support.h"
#include "harness/program/rank.h"
#include "harness/training/layer.h"
#include "tests/harness/training/gradient_check.h"
#include "tests/harness/training/noted_calls.h"

namespace gang::harness::training {
namespace {

const BuildOptions real{.seed = 3, .numbers = Numbers::real, .tp = nullptr};

std::unique_ptr<Layer> layer_of(LayerKind kind, int inputs, int outputs) {
  return make_layer({.kind = kind, .name = "layer", .inputs = inputs, .outputs = outputs}, real);
}

TEST(Layers, GradientsOfALinearLayerMatchFiniteDifferences) {
  expect_gradients(*layer_of(LayerKind::linear, 3, 4), some_input(3, 5));
}

TEST(Layers, GradientsOfActivationsMatchFiniteDifferences) {
  expect_gradients(*layer_of(LayerKind::relu, 3, 3), some_input(3, 5));
  expect_gradients(*layer_of(LayerKind::gelu, 3, 3), some_input(3, 5));
}

TEST(Layers, GradientsOfALayerNormMatchFiniteDifferences) {
  expect_gradients(*layer_of(LayerKind::layer_norm, 4, 4), some_input(4, 3));
}

TEST(Layers, GradientsOfAnEmbeddingMatchFiniteDifferences) {
  Matrix tokens(1, 4);
  tokens << 2, 0, 2, 1;
  expect_gradients(*layer_of(LayerKind::embedding, 3, 2), tokens, false);
}

TEST(Layers, ALinearLayerMultipliesAndAdds) {
  const auto linear = layer_of(LayerKind::linear, 2, 1);
  linear->parameters()[0].value << 2, 3;
  linear->parameters()[1].value << 5;
  Matrix input(2, 2);
  input << 1, 0, 1, -1;
  Saved saved;
  Matrix expected(1, 2);
  expected << 10, 2;
  EXPECT_EQ(linear->forward(input, saved), expected);
}

TEST(Layers, GradientsAddUp) {
  const auto linear = layer_of(LayerKind::linear, 3, 2);
  const auto pass = [&linear] {
    Saved saved;
    linear->forward(some_input(3, 4), saved);
    linear->backward_input(Matrix::Ones(2, 4), saved);
    linear->backward_weights(saved);
  };
  pass();
  const Matrix once = linear->parameters()[0].gradient;
  pass();
  EXPECT_EQ(linear->parameters()[0].gradient, 2 * once);
}

TEST(Layers, ALayerNormBringsColumnsToMeanZeroAndVarianceOne) {
  const auto norm = layer_of(LayerKind::layer_norm, 8, 8);
  Saved saved;
  const Matrix output = norm->forward(some_input(8, 3), saved);
  EXPECT_LT(output.colwise().mean().cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((output.colwise().squaredNorm() / 8 - Matrix::Ones(1, 3)).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(Layers, ALayerNormOfEqualValuesIsZero) {
  const auto norm = layer_of(LayerKind::layer_norm, 8, 8);
  Saved saved;
  EXPECT_EQ(norm->forward(Matrix::Ones(8, 3), saved), Matrix::Zero(8, 3));
}

TEST(Layers, GradientsOfAllParametersAddUp) {
  Matrix tokens(1, 4);
  tokens << 2, 0, 2, 1;
  for (const LayerKind kind :
       {LayerKind::linear, LayerKind::layer_norm, LayerKind::embedding, LayerKind::attention}) {
    const auto layer = layer_of(kind, 4, 4);
    const Matrix input = kind == LayerKind::embedding ? tokens : some_input(4, 4);
    const auto pass = [&] {
      Saved saved;
      layer->forward(input, saved);
      layer->backward_input(some_input(4, 4), saved);
      layer->backward_weights(saved);
    };
    pass();
    std::vector<Matrix> once;
    for (const ModelParameter& parameter : layer->parameters()) once.push_back(parameter.gradient);
    pass();
    for (std::size_t i = 0; i < once.size(); ++i)
      EXPECT_LT((layer->parameters()[i].gradient - 2 * once[i]).norm(), 1e-12)
          << layer->parameters()[i].name;
  }
}

TEST(Layers, AtZeroAReluHasNoSlope) {
  const auto relu = layer_of(LayerKind::relu, 1, 1);
  Saved saved;
  relu->forward(Matrix::Zero(1, 1), saved);
  EXPECT_EQ(relu->backward_input(Matrix::Ones(1, 1), saved)(0, 0), 0);
}

// This rank's part of the parameters of `whole`.
void take_part(Layer& part, Layer& whole) {
  for (std::size_t i = 0; i < part.parameters().size(); ++i) {
    ModelParameter& mine = part.parameters()[i];
    mine.value = whole.parameters()[i].value.block(mine.first_row, mine.first_column,
                                                   mine.value.rows(), mine.value.cols());
  }
}

GANG_TEST(Layers, DividedLayersAreTogetherTheWhole, 2) {
  const LayerSpecification first{.kind = LayerKind::linear,
                                 .name = "first",
                                 .inputs = 3,
                                 .outputs = 4,
                                 .split = Split::outputs};
  const LayerSpecification second{.kind = LayerKind::linear,
                                  .name = "second",
                                  .inputs = 4,
                                  .outputs = 2,
                                  .split = Split::inputs};
  BuildOptions divided = real;
  divided.tp = rank.root();
  const auto pass = [](Layer& one, Layer& other) {
    Saved of_one;
    Saved of_other;
    Matrix output = other.forward(one.forward(some_input(3, 5), of_one), of_other);
    const Matrix by_input =
        one.backward_input(other.backward_input(some_input(2, 5), of_other), of_one);
    one.backward_weights(of_one);
    other.backward_weights(of_other);
    return std::pair{output, by_input};
  };
  const auto whole_first = make_layer(first, real);
  const auto whole_second = make_layer(second, real);
  for (Layer* layer : {whole_first.get(), whole_second.get()})
    layer->parameters()[1].value = some_input(layer->parameters()[1].value.rows(), 1);
  const auto my_first = make_layer(first, divided);
  const auto my_second = make_layer(second, divided);
  take_part(*my_first, *whole_first);
  take_part(*my_second, *whole_second);
  const auto [output, by_input] = pass(*whole_first, *whole_second);
  const auto [my_output, my_by_input] = pass(*my_first, *my_second);
  EXPECT_LT((my_output - output).norm(), 1e-12);
  EXPECT_LT((my_by_input - by_input).norm(), 1e-12);
  EXPECT_EQ(my_first->parameters()[1].value.size(), 2);
  EXPECT_EQ(my_second->parameters()[1].value.size(), 2);
}

GANG_TEST(Layers, ADividedEmbeddingIsTogetherTheWhole, 2) {
  const LayerSpecification specification{.kind = LayerKind::embedding,
                                         .name = "embedding",
                                         .inputs = 4,
                                         .outputs = 3,
                                         .split = Split::inputs};
  BuildOptions divided = real;
  divided.tp = rank.root();
  Matrix tokens(1, 5);
  tokens << 3, 0, 1, 2, 3;
  Saved saved;
  EXPECT_EQ(make_layer(specification, divided)->forward(tokens, saved),
            make_layer(specification, real)->forward(tokens, saved));
}

TEST(Layers, WhatIsNotDividedIsWholeOnEveryRank) {
  BuildOptions divided = real;
  divided.tp = make_fake_gang({.rank = 1, .size = 2});
  const auto layer =
      make_layer({.kind = LayerKind::linear, .name = "last", .inputs = 4, .outputs = 2}, divided);
  EXPECT_EQ(layer->parameters()[0].value.rows(), 2);
  EXPECT_EQ(layer->parameters()[0].value.cols(), 4);
}

TEST(Layers, TpDividesThem) {
  BuildOptions divided = real;
  divided.tp = make_fake_gang({.rank = 1, .size = 2});
  EXPECT_THROW(
      make_layer({.name = "odd", .inputs = 4, .outputs = 3, .split = Split::outputs}, divided),
      InvalidArgument);
}

TEST(Layers, CallsAreLabelledWithTheirNames) {
  for (const LayerSpecification& specification :
       {LayerSpecification{.name = "columns", .inputs = 2, .outputs = 2, .split = Split::outputs},
        LayerSpecification{.name = "rows", .inputs = 2, .outputs = 2, .split = Split::inputs},
        LayerSpecification{.kind = LayerKind::embedding,
                           .name = "tokens",
                           .inputs = 2,
                           .outputs = 2,
                           .split = Split::inputs}}) {
    const auto tp = std::make_shared<NotedCalls>(make_fake_gang({.size = 2}));
    const auto layer = make_layer(specification, {.tp = tp});
    const bool has_tokens = specification.kind == LayerKind::embedding;
    const bool has_parts = specification.split == Split::inputs && !has_tokens;
    Saved saved;
    layer->forward(Matrix::Ones(has_tokens || has_parts ? 1 : 2, 1), saved);
    layer->backward_input(Matrix::Ones(specification.split == Split::outputs ? 1 : 2, 1), saved);
    EXPECT_EQ(tp->labels(), std::vector<std::string>{specification.name});
  }
}

}  // namespace
}  // namespace gang::harness::training
