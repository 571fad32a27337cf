#include "harness/training/sgd.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/training/initial_values.h"
#include "harness/training/model.h"

namespace gang::harness::training {
namespace {

using testing::ElementsAre;

TEST(Sgd, MovesAgainstTheMeanGradient) {
  std::vector<double> values = {1, 1};
  const std::vector<double> gradients = {8, -16};
  std::vector<double> velocity(2);
  update({.learning_rate = 0.5},
         {.values = values, .gradients = gradients, .velocity = velocity, .samples = 4});
  EXPECT_THAT(values, ElementsAre(0, 3));
}

TEST(Sgd, HasMomentum) {
  std::vector<double> values = {0};
  const std::vector<double> gradients = {1};
  std::vector<double> velocity(1);
  const SgdUpdate elements{.values = values, .gradients = gradients, .velocity = velocity};
  update({.learning_rate = 1, .momentum = 0.5}, elements);
  update({.learning_rate = 1, .momentum = 0.5}, elements);
  EXPECT_THAT(velocity, ElementsAre(1.5));
  EXPECT_THAT(values, ElementsAre(-2.5));
}

TEST(Sgd, StaysOnTheGridAndWithinTheLimit) {
  std::vector<double> values = {0.25, 0.75};
  const std::vector<double> gradients = {0.1, -9};
  std::vector<double> velocity(2);
  update({.learning_rate = 1, .grid = 0.25, .limit = 1},
         {.values = values, .gradients = gradients, .velocity = velocity});
  EXPECT_THAT(values, ElementsAre(0.25, 1));
}

TEST(Sgd, UpdatesEveryParameterOfAModel) {
  const ModelSpecification specification = mlp({.linears = 1});
  Model model(specification.layers, build_options(specification, 1));
  const Matrix before = model.parameters()[0]->value;
  model.parameters()[0]->gradient.setConstant(4);
  model.parameters()[1]->gradient.setConstant(-2);
  Sgd sgd({.learning_rate = 0.5}, model);
  sgd.step(2);
  EXPECT_EQ(model.parameters()[0]->value, (before.array() - 1).matrix());
  EXPECT_EQ(model.parameters()[1]->value, Matrix::Constant(4, 1, 0.5));
  EXPECT_EQ(sgd.velocities()[1].front(), -2);
}

TEST(Sgd, OfRealNumbersHasNeitherGridNorLimit) {
  const SgdOptions real = sgd_for(Numbers::real, 0.25);
  EXPECT_EQ(real.momentum, 0.25);
  EXPECT_EQ(real.grid, 0);
  EXPECT_EQ(real.limit, 0);
  const SgdOptions exact = sgd_for(Numbers::exact, 0.25);
  EXPECT_EQ(exact.momentum, 0.25);
  EXPECT_EQ(exact.learning_rate, 1.0 / 16);
  EXPECT_GT(exact.grid, 0);
  EXPECT_GT(exact.limit, exact.grid);
}

TEST(Sgd, TheLimitIsThatOfBothSigns) {
  std::vector<double> values = {-0.75};
  const std::vector<double> gradients = {9};
  std::vector<double> velocity(1);
  update({.learning_rate = 1, .limit = 1},
         {.values = values, .gradients = gradients, .velocity = velocity});
  EXPECT_THAT(values, ElementsAre(-1));
}

TEST(Sgd, OfExactNumbersStaysOnTheGridOfTheirWeights) {
  EXPECT_EQ(sgd_for(Numbers::exact).grid, weight_grid);
  EXPECT_EQ(sgd_for(Numbers::exact).limit, largest_weight);
}

// Two zeros would be different bits.
TEST(Sgd, OnTheGridThereIsOneZero) {
  std::vector<double> values = {0};
  const std::vector<double> gradients = {0.1};
  std::vector<double> velocity(1);
  update({.learning_rate = 1, .grid = 0.25},
         {.values = values, .gradients = gradients, .velocity = velocity});
  EXPECT_EQ(values[0], 0);
  EXPECT_FALSE(std::signbit(values[0]));
}

}  // namespace
}  // namespace gang::harness::training
