#include "gang/error.h"
#include "harness/training/layer.h"
#include "tests/harness/training/gradient_check.h"

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

}  // namespace
}  // namespace gang::harness::training
