#include "harness/training/training_run.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/runner.h"

namespace gang::harness::training {
namespace {

using testing::HasSubstr;

TEST(TrainingRun, WithoutComparingNothingDiffers) {
  const Program program{.name = "compares_nothing",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              TrainingCheck check(rank, training_plan(rank.parameters(), 1),
                                                  comparison_of(rank));
                              check.after_step(1e9);
                              EXPECT_FALSE(check.compares());
                            },
                        .parameters = training_parameters("mlp")};
  EXPECT_TRUE(
      run(program, {.program = program.name, .parameters = {{"compare", "false"}}}).holds());
}

// A program that gets everything wrong.
void train_wrongly(Rank& rank) {
  const TrainingPlan plan = training_plan(rank.parameters(), 1);
  Model model(plan.model.layers, build_options(plan.model, plan.seed));
  TrainingCheck check(rank, plan);
  const double loss = Reference(plan).step();
  check.after_step(rank.rank() == 0 ? loss : loss + 1);
  if (rank.rank() == 1) check.expect_same(false, "the batch", *rank.root());
  if (rank.rank() == 2) check.compare_gradients(model);
}

TEST(TrainingRun, ADifferenceFromOneProcessIsAFinding) {
  const Program program{.name = "train_wrongly",
                        .description = "",
                        .run = train_wrongly,
                        .parameters = training_parameters("mlp")};
  for (const int world_size : {1, 3}) {
    const RunResult result = run(program, {.program = program.name, .world_size = world_size});
    ASSERT_EQ(result.report.findings.size(), world_size == 1 ? 0U : 1U);
    if (world_size == 1) continue;
    EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
    EXPECT_THAT(result.report.findings[0].ranks, testing::ElementsAre(1, 2));
    EXPECT_THAT(result.report.findings[0].message, HasSubstr("the loss of step 0 is"));
  }
}

// What is found if `spoil` changes the model after one right step.
sim::Finding finding_after(const std::function<void(Model&)>& spoil) {
  const Program program{.name = "train_wrongly",
                        .description = "",
                        .run =
                            [&spoil](Rank& rank) {
                              const TrainingPlan plan = training_plan(rank.parameters(), 1);
                              Reference same(plan);
                              const double loss = same.step();
                              if (rank.rank() == 2) spoil(same.model());
                              TrainingCheck check(rank, plan);
                              check.after_step(loss, same.model());
                            },
                        .parameters = training_parameters("mlp")};
  const RunResult result = run(program, {.program = program.name, .world_size = 3});
  return result.report.findings.empty() ? sim::Finding{} : result.report.findings.front();
}

TEST(TrainingRun, AfterAStepValuesAndGradientsAreCompared) {
  EXPECT_EQ(finding_after([](Model&) {}).message, "");
  const sim::Finding of_values =
      finding_after([](Model& model) { model.parameter("linear1.bias").value(2, 0) += 1; });
  EXPECT_THAT(of_values.ranks, testing::ElementsAre(2));
  EXPECT_THAT(of_values.message, testing::StartsWith("On rank 2, linear1.bias(2,0) is "));
  EXPECT_THAT(finding_after([](Model& model) {
                model.parameter("linear1.bias").gradient(2, 0) += 1;
              }).message,
              testing::StartsWith("On rank 2, the gradient of linear1.bias(2,0) is "));
}

TEST(TrainingRun, WhatDiffersBetweenRanksIsNamedWithTheirGang) {
  const Program program{.name = "differs",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              TrainingCheck check(rank, training_plan(rank.parameters(), 1));
                              check.expect_same(rank.rank() != 1, "the batch", *rank.root());
                            },
                        .parameters = training_parameters("mlp")};
  const RunResult result = run(program, {.program = program.name, .world_size = 3});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].message,
            "On rank 1, the batch differs between ranks of root[0-2].");
}

TEST(TrainingRun, ParametersAreOutputUnderTheirNames) {
  const Program program{.name = "outputs", .description = "", .run = [](Rank& rank) {
                          const ModelSpecification model = mlp({.linears = 1});
                          output_parameters(rank, Model(model.layers, build_options(model, 1)));
                        }};
  const RunResult result =
      run(program, {.program = program.name, .world_size = 1}, {.outputs = KeepOutputs::data});
  ASSERT_EQ(result.outputs.by_rank[0].size(), 2U);
  EXPECT_EQ(result.outputs.by_rank[0][0].name, "linear0.weight");
  EXPECT_EQ(result.outputs.by_rank[0][1].name, "linear0.bias");
  EXPECT_EQ(result.outputs.by_rank[0][1].count, 4);
}

}  // namespace
}  // namespace gang::harness::training
