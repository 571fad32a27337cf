#include "harness/training/batch.h"

#include <gtest/gtest.h>

namespace gang::harness::training {
namespace {

TEST(Batch, IsTheSameForTheSameSeedAndStep) {
  const ModelSpecification model = mlp();
  EXPECT_EQ(make_batch(model, 1, 0, 8).inputs, make_batch(model, 1, 0, 8).inputs);
  EXPECT_NE(make_batch(model, 1, 0, 8).inputs, make_batch(model, 2, 0, 8).inputs);
  EXPECT_NE(make_batch(model, 1, 0, 8).inputs, make_batch(model, 1, 1, 8).inputs);
}

TEST(Batch, OfExactNumbersAreSmallIntegers) {
  const Batch batch = make_batch(mlp({.inputs = 3, .outputs = 2}), 1, 0, 50);
  EXPECT_EQ(batch.inputs.rows(), 3);
  EXPECT_EQ(batch.targets.rows(), 2);
  EXPECT_EQ(batch.inputs, batch.inputs.array().round().matrix());
  EXPECT_EQ(batch.inputs.cwiseAbs().maxCoeff(), 2);
}

TEST(Batch, OfALanguageModelHasTheNextTokenAsTarget) {
  const Batch batch = make_batch(transformer({.vocabulary = 9, .sequence = 4}), 1, 0, 3);
  EXPECT_EQ(batch.samples(), 3);
  EXPECT_EQ(batch.inputs.cols(), 12);
  for (const int i : {1, 2, 3, 5, 9}) EXPECT_EQ(batch.inputs(0, i), batch.targets(0, i - 1));
  EXPECT_LT(batch.inputs.maxCoeff(), 9);
  EXPECT_GE(batch.inputs.minCoeff(), 0);
}

TEST(Batch, PartsAreTheWholeInOrder) {
  const Batch whole = make_batch(transformer({.sequence = 2}), 1, 0, 7);
  Matrix inputs(1, 0);
  Eigen::Index first = 0;
  for (int part = 0; part < 3; ++part) {
    const Batch mine = part_of(whole, part, 3);
    EXPECT_EQ(mine.samples(), part == 0 ? 3 : 2);
    EXPECT_EQ(mine.inputs, whole.inputs.middleCols(first, mine.inputs.cols()));
    EXPECT_EQ(mine.targets, whole.targets.middleCols(first, mine.inputs.cols()));
    first += mine.inputs.cols();
  }
  EXPECT_EQ(first, whole.inputs.cols());
}

TEST(Batch, APartIsTheSameAsInTheWhole) {
  for (const ModelSpecification& model : {mlp(), transformer()}) {
    const Batch whole = make_batch(model, 1, 2, 7);
    for (int part = 0; part < 3; ++part) {
      const Batch mine = make_batch(model, 1, 2, part_of(7, part, 3));
      EXPECT_EQ(mine.inputs, part_of(whole, part, 3).inputs);
      EXPECT_EQ(mine.targets, part_of(whole, part, 3).targets);
    }
  }
}

TEST(Batch, ThereMayBeMorePartsThanSamples) {
  const Batch whole = make_batch(mlp(), 1, 0, 2);
  EXPECT_EQ(part_of(whole, 1, 4).samples(), 1);
  EXPECT_EQ(part_of(whole, 3, 4).samples(), 0);
}

TEST(Batch, EveryNumberOfItsKindIsDrawn) {
  const Batch exact = make_batch(mlp(), 1, 0, 50);
  EXPECT_EQ(exact.inputs.minCoeff(), -2);
  EXPECT_EQ(exact.inputs.maxCoeff(), 2);
  ModelSpecification model = mlp();
  model.numbers = Numbers::real;
  const Batch real = make_batch(model, 1, 0, 50);
  EXPECT_LT(real.inputs.minCoeff(), -0.9);
  EXPECT_GT(real.inputs.maxCoeff(), 0.9);
  EXPECT_LE(real.inputs.cwiseAbs().maxCoeff(), 1);
  const Batch tokens = make_batch(transformer({.vocabulary = 9}), 1, 0, 50);
  EXPECT_EQ(tokens.inputs.minCoeff(), 0);
  EXPECT_EQ(tokens.inputs.maxCoeff(), 8);
}

TEST(Batch, NoSampleComesAgainInTheNextStep) {
  const Batch first = make_batch(mlp(), 1, 0, 8);
  const Batch next = make_batch(mlp(), 1, 1, 8);
  for (Eigen::Index i = 0; i < 8; ++i)
    for (Eigen::Index j = 0; j < 8; ++j) EXPECT_NE(first.inputs.col(i), next.inputs.col(j));
}

}  // namespace
}  // namespace gang::harness::training
