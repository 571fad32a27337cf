#include "harness/training/initial_values.h"

#include <cmath>

#include <gtest/gtest.h>

namespace gang::harness::training {
namespace {

TEST(InitialValues, DependOnSeedAndName) {
  const ParameterSpecification weight{.name = "w", .rows = 4, .columns = 6};
  const Matrix value = make_parameter(weight, {}).value;
  EXPECT_EQ(make_parameter(weight, {}).value, value);
  EXPECT_NE(make_parameter(weight, {.seed = 2}).value, value);
  ParameterSpecification other = weight;
  other.name = "v";
  EXPECT_NE(make_parameter(other, {}).value, value);
}

TEST(InitialValues, OfAPartAreThoseOfTheWhole) {
  ParameterSpecification wanted{.name = "w", .rows = 4, .columns = 6};
  const Matrix whole = make_parameter(wanted, {}).value;
  wanted.part = 1;
  wanted.row_parts = 2;
  EXPECT_EQ(make_parameter(wanted, {}).value, whole.bottomRows(2));
  wanted.row_parts = 1;
  wanted.column_parts = 3;
  const ModelParameter part = make_parameter(wanted, {});
  EXPECT_EQ(part.value, whole.middleCols(2, 2));
  EXPECT_EQ(part.first_column, 2);
  EXPECT_EQ(part.first_row, 0);
  EXPECT_EQ(part.whole_columns, 6);
  EXPECT_EQ(part.gradient, Matrix::Zero(4, 2));
}

TEST(InitialValues, AreOnTheGridForExactNumbers) {
  const Matrix value = make_parameter({.name = "w", .rows = 20, .columns = 20}, {}).value;
  EXPECT_EQ(value, (value / weight_grid).array().round().matrix() * weight_grid);
  EXPECT_EQ(value.cwiseAbs().maxCoeff(), largest_weight);
}

TEST(InitialValues, AreScaledByTheInputsForRealNumbers) {
  const Matrix value =
      make_parameter({.name = "w", .rows = 20, .columns = 16}, {.numbers = Numbers::real}).value;
  EXPECT_LE(value.cwiseAbs().maxCoeff(), 0.25);
  EXPECT_GT(value.cwiseAbs().maxCoeff(), 0.2);
}

TEST(InitialValues, MayBeConstant) {
  EXPECT_EQ(make_parameter({.name = "b", .rows = 3, .initial = InitialValue::zero}, {}).value,
            Matrix::Zero(3, 1));
  EXPECT_EQ(make_parameter({.name = "g", .rows = 3, .initial = InitialValue::one}, {}).value,
            Matrix::Ones(3, 1));
}

TEST(InitialValues, OfBothSignsReachTheLargest) {
  const Matrix value = make_parameter({.name = "w", .rows = 20, .columns = 20}, {}).value;
  EXPECT_EQ(value.minCoeff(), -largest_weight);
  EXPECT_EQ(value.maxCoeff(), largest_weight);
}

TEST(InitialValues, TheMoreInputsTheSmallerTheyAre) {
  const Matrix value =
      make_parameter({.name = "w", .rows = 4, .columns = 400}, {.numbers = Numbers::real}).value;
  EXPECT_LE(value.cwiseAbs().maxCoeff(), 0.05);
  EXPECT_GT(value.cwiseAbs().maxCoeff(), 0.04);
}

TEST(InitialValues, APartKnowsTheWholeAndHasAGradientOfItsOwnSize) {
  const ModelParameter part =
      make_parameter({.name = "w", .rows = 4, .columns = 6, .part = 1, .row_parts = 2}, {});
  EXPECT_EQ(part.whole_rows, 4);
  EXPECT_EQ(part.whole_columns, 6);
  EXPECT_EQ(part.first_row, 2);
  EXPECT_EQ(part.first_column, 0);
  EXPECT_EQ(part.gradient.rows(), 2);
  EXPECT_EQ(part.gradient.cols(), 6);
}

}  // namespace
}  // namespace gang::harness::training
