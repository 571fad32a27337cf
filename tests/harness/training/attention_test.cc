#include <cmath>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "harness/training/layer.h"
#include "tests/harness/training/gradient_check.h"
#include "tests/harness/training/noted_calls.h"

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

// x + O softmax(K Q / sqrt(d)) V, with d the width of a head.
TEST(Attention, IsThatOfVaswaniAndOthers) {
  const auto layer = attention(2);
  const Matrix tokens = some_input(4, 3);
  const auto weight = [&layer](std::size_t i) { return layer->parameters()[i].value; };
  Matrix heads(4, 3);
  for (const Eigen::Index first : {0, 2}) {
    const Matrix q = (weight(0) * tokens).middleRows(first, 2);
    const Matrix k = (weight(1) * tokens).middleRows(first, 2);
    const Matrix v = (weight(2) * tokens).middleRows(first, 2);
    for (Eigen::Index token = 0; token < 3; ++token) {
      Matrix shares =
          (k.leftCols(token + 1).transpose() * q.col(token) / std::sqrt(2.0)).array().exp();
      shares /= shares.sum();
      heads.block(first, token, 2, 1) = v.leftCols(token + 1) * shares;
    }
  }
  Saved saved;
  EXPECT_LT((layer->forward(tokens, saved) - tokens - weight(3) * heads).norm(), 1e-12);
}

TEST(Attention, LargeScoresDoNotOverflow) {
  const auto layer = attention(2);
  for (ModelParameter& parameter : layer->parameters()) parameter.value *= 1e3;
  Saved saved;
  EXPECT_TRUE(layer->forward(some_input(4, 6), saved).allFinite());
}

TEST(Attention, CallsAreLabelledWithItsName) {
  const auto tp = std::make_shared<NotedCalls>(make_fake_gang());
  const auto layer = make_layer({.kind = LayerKind::attention,
                                 .name = "attention7",
                                 .inputs = 4,
                                 .outputs = 4,
                                 .split = Split::outputs,
                                 .sequence = 3},
                                {.tp = tp});
  Saved saved;
  layer->backward_input(layer->forward(some_input(4, 3), saved), saved);
  EXPECT_EQ(tp->labels(), (std::vector<std::string>{"attention7", "attention7"}));
}

}  // namespace
}  // namespace gang::harness::training
