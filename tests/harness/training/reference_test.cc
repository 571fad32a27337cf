#include "harness/training/reference.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/fake_gang.h"

namespace gang::harness::training {
namespace {

using testing::HasSubstr;

TrainingPlan plan_of(const ModelSpecification& model, double momentum = 0) {
  return {.model = model, .sgd = sgd_for(model.numbers, momentum), .samples = 16};
}

// The gradients of parts of a batch, summed pairwise from the last part.
void train_in_parts(Model& model, Sgd& sgd, const TrainingPlan& plan, const Batch& batch,
                    int parts) {
  std::vector<std::vector<Matrix>> gradients;
  for (int part = 0; part < parts; ++part) {
    const Batch mine = part_of(batch, part, parts);
    Activations activations;
    model.zero_gradients();
    const Matrix outputs = model.forward(mine.inputs, activations);
    model.backward(loss_of(plan.model.objective, outputs, mine.targets).gradient, activations);
    gradients.emplace_back();
    for (const ModelParameter* parameter : model.parameters()) {
      gradients.back().push_back(parameter->gradient);
    }
  }
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    Matrix sum = gradients.back()[i];
    for (std::size_t part = gradients.size() - 1; part-- > 0;) sum += gradients[part][i];
    model.parameters()[i]->gradient = sum;
  }
  sgd.step(static_cast<double>(plan.samples));
}

TEST(Reference, TrainingMakesTheLossSmaller) {
  for (const ModelSpecification& model : {mlp(), transformer()}) {
    Reference reference(plan_of(model, 0.5));
    const Batch batch = reference.plan().batch(0);
    const double first = reference.step(batch);
    double last = first;
    for (int step = 0; step < 50; ++step) last = reference.step(batch);
    EXPECT_LT(last, 0.8 * first) << model.layers.front().name;
  }
}

// Weights of exact models change but stay within their limit, and no sum is rounded, so training
// gives the same bits in any order of summation.
TEST(Reference, ExactNumbersDoNotDependOnTheOrderOfSums) {
  for (const int linears : {1, 2, 3, 4}) {
    const TrainingPlan plan = plan_of(mlp({.hidden = 32, .linears = linears}), 0.5);
    Reference reference(plan);
    Model model(plan.model.layers, build_options(plan.model, plan.seed));
    Sgd sgd(plan.sgd, model);
    const Matrix before = model.parameters()[0]->value;
    for (int step = 0; step < 8; ++step) {
      train_in_parts(model, sgd, plan, plan.batch(step), 5);
      reference.step();
      EXPECT_EQ(difference_of(model, reference), "") << linears;
    }
    EXPECT_NE(before, model.parameters()[0]->value);
  }
}

TEST(Reference, RealNumbersStayWithinTheBound) {
  const TrainingPlan plan = plan_of(transformer({.width = 16}));
  Reference reference(plan);
  Model model(plan.model.layers, build_options(plan.model, plan.seed));
  Sgd sgd(plan.sgd, model);
  for (int step = 0; step < 8; ++step) {
    train_in_parts(model, sgd, plan, plan.batch(step), 5);
    reference.step();
    EXPECT_EQ(difference_of(model, reference), "");
  }
}

TEST(Reference, SaysWhichElementDiffersAndByHowMuch) {
  for (const ModelSpecification& model : {mlp(), transformer()}) {
    const TrainingPlan plan = plan_of(model);
    Reference reference(plan);
    reference.step();
    Model mine(plan.model.layers, build_options(plan.model, plan.seed));
    for (ModelParameter* parameter : mine.parameters()) {
      const ModelParameter& whole = reference.model().parameter(parameter->name);
      parameter->value = whole.value;
      parameter->gradient = whole.gradient;
    }
    EXPECT_EQ(difference_of(mine, reference), "");
    ModelParameter& wrong = *mine.parameters().back();
    wrong.value(2, 0) += 1e-9;
    EXPECT_THAT(difference_of(mine, reference), HasSubstr(wrong.name + "(2,0) is "));
    EXPECT_THAT(difference_of(mine, reference), HasSubstr("in step 0, but "));
    EXPECT_EQ(gradient_difference_of(mine, reference), "");
    wrong.gradient(1, 0) -= 1e-9;
    EXPECT_THAT(gradient_difference_of(mine, reference),
                HasSubstr("the gradient of " + wrong.name + "(1,0) is "));
  }
}

TEST(Reference, ALossThatDiffersIsNamed) {
  EXPECT_EQ(difference_of(3.0, 3.0, plan_of(mlp()), 1), "");
  EXPECT_THAT(difference_of(3.5, 3.0, plan_of(mlp()), 2), HasSubstr("the loss of step 1 is 3.5"));
}

TEST(Reference, TheBoundIsZeroForExactNumbersAndSmallForOthers) {
  EXPECT_EQ(bound_of(plan_of(mlp()), 3, 100), 0);
  const double bound = bound_of(plan_of(transformer()), 3, 1);
  EXPECT_GT(bound, 0);
  EXPECT_LT(bound, 1e-12);
}

TEST(Reference, WhatIsNoNumberDiffers) {
  const double nan = std::nan("");
  EXPECT_THAT(difference_of(nan, 3.0, plan_of(transformer()), 1), HasSubstr("the loss of step 0"));
  const TrainingPlan plan = plan_of(transformer());
  Reference reference(plan);
  Model mine(plan.model.layers, build_options(plan.model, plan.seed));
  EXPECT_EQ(difference_of(mine, reference), "");
  mine.parameters()[0]->value(1, 2) = nan;
  mine.parameters()[1]->gradient(0, 0) = nan;
  EXPECT_THAT(difference_of(mine, reference), HasSubstr("embedding.weight(1,2) is nan"));
  EXPECT_THAT(gradient_difference_of(mine, reference), HasSubstr("(0,0) is nan"));
}

TEST(Reference, AStepIsByTheMeanOverItsBatch) {
  TrainingPlan half = plan_of(mlp());
  half.samples = 8;
  Reference reference(plan_of(mlp()));
  Reference of_half(half);
  reference.step(half.batch(0));
  of_half.step();
  for (const ModelParameter* parameter : of_half.model().parameters())
    EXPECT_EQ(reference.model().parameter(parameter->name).value, parameter->value);
}

// Rank 1 of 2 has the last 8 outputs of linear0 and the last 8 inputs of linear1.
TEST(Reference, APartIsComparedWhereItBelongs) {
  const TrainingPlan plan = plan_of(mlp());
  Reference reference(plan);
  const auto tp = make_fake_gang({.rank = 1, .size = 2, .name = "tp"});
  Model mine(plan.model.layers, build_options(plan.model, plan.seed, tp));
  EXPECT_EQ(difference_of(mine, reference), "");
  mine.parameter("linear1.weight").value(3, 1) += 1;
  EXPECT_THAT(difference_of(mine, reference), HasSubstr("linear1.weight(3,9) is "));
  mine.parameter("linear0.weight").value(3, 1) += 1;
  EXPECT_THAT(difference_of(mine, reference), HasSubstr("linear0.weight(11,1) is "));
}

TEST(Reference, TheBoundGrowsWithTheStepsAndTheLargestElement) {
  const TrainingPlan plan = plan_of(transformer());
  double roundings = 16.0 * plan.model.sequence;
  for (const LayerSpecification& layer : plan.model.layers) roundings += 3 * layer.inputs;
  const double error = 5 * roundings * 0x1p-53;
  EXPECT_DOUBLE_EQ(bound_of(plan, 5, 100), 100 * 4 * error / (1 - error));
  EXPECT_DOUBLE_EQ(bound_of(plan, 5, 0.1), 4 * error / (1 - error));
}

}  // namespace
}  // namespace gang::harness::training
