#include "harness/training/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gang::harness::training
