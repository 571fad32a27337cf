#include "gang/error.h"
#include "harness/training/layer.h"
#include "tests/harness/training/gradient_check.h"

namespace gang::harness::training {
namespace {

std::unique_ptr<Layer> attention(int heads) {
  return make_layer({.kind = LayerKind::attention,
                     .name = "attention",
                     .inputs = 4,
                     .outputs = 4,
                     .split = Split::outputs,
                     .heads = heads,
                     .sequence = 3},
                    {.seed = 5, .numbers = Numbers::real, .tp = nullptr});
}

TEST(Attention, GradientsMatchFiniteDifferences) {
  expect_gradients(*attention(1), some_input(4, 6));
  expect_gradients(*attention(2), some_input(4, 6));
}

TEST(Attention, ATokenSeesOnlyEarlierTokensOfItsSample) {
  const auto layer = attention(2);
  Matrix input = some_input(4, 6);
  Saved saved;
  const Matrix before = layer->forward(input, saved);
  input.col(4).array() += 1;  // the second token of the second sample
  const Matrix after = layer->forward(input, saved);
  EXPECT_EQ(before.leftCols(4), after.leftCols(4));
  EXPECT_NE(before.col(4), after.col(4));
  EXPECT_NE(before.col(5), after.col(5));
}

TEST(Attention, HeadsMustDivideTheWidth) { EXPECT_THROW(attention(3), InvalidArgument); }

}  // namespace
}  // namespace gang::harness::training
