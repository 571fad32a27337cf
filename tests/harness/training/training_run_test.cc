#include "harness/training/training_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/runner.h"

namespace gang::harness::training {
namespace {

using testing::HasSubstr;

ParameterValues values_with(const std::map<std::string, std::string>& given,
                            const std::string& model = "mlp") {
  return {training_parameters(model), given};
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TrainingRun, ThePlanIsWhatTheParametersSay) {
  const TrainingPlan plan =
      training_plan(values_with({{"hidden", "24"}, {"layers", "2"}, {"samples", "3"}}), 4);
  EXPECT_EQ(plan.model, mlp({.hidden = 24, .linears = 2}));
  EXPECT_EQ(plan.samples, 12);
  EXPECT_EQ(training_plan(values_with({}, "transformer"), 1).model, transformer());
}

TEST(TrainingRun, ABatchThatOneProcessCannotCheckIsRefused) {
  EXPECT_NO_THROW(validate_training(64, values_with({{"samples", "256"}})));
  EXPECT_THAT(refusal([] { validate_training(65, values_with({{"samples", "256"}})); }),
              HasSubstr("accepted: up to 16384, or compare=false"));
  EXPECT_NO_THROW(validate_training(65, values_with({{"samples", "256"}, {"compare", "false"}})));
}

TEST(TrainingRun, AWidthThatHeadsDoNotDivideIsRefused) {
  EXPECT_THAT(refusal([] { validate_training(1, values_with({{"hidden", "10"}}, "transformer")); }),
              HasSubstr("multiples of 4"));
}

TEST(TrainingRun, SizesThatDoNotDivideAreRefusedWithThoseThatWouldDo) {
  EXPECT_EQ(refusal([] { check_divides("tp", 4, "world", 6); }),
            "tp 4 does not divide world 6; accepted: 1, 2, 3, 6");
  EXPECT_NO_THROW(check_divides("tp", 3, "world", 6));
}

TEST(TrainingRun, WithoutComparingNothingDiffers) {
  const Program program{.name = "compares_nothing",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              TrainingCheck check(rank, training_plan(rank, 1),
                                                  comparison_of(rank));
                              check.after_step(1e9);
                              EXPECT_FALSE(check.compares());
                            },
                        .parameters = training_parameters("mlp")};
  EXPECT_TRUE(
      run(program, {.program = program.name, .parameters = {{"compare", "false"}}}).holds());
}

// A program that does nothing right.
void train_wrongly(Rank& rank) {
  const TrainingPlan plan = training_plan(rank, 1);
  Model model(plan.model.layers, build_options(plan.model, plan.seed));
  TrainingCheck check(rank, plan);
  const double loss = Reference(plan).step();
  check.after_step(rank.rank() == 0 ? loss : loss + 1);
  if (rank.rank() == 1) check.expect_same(false, "the batch", *rank.root());
  if (rank.rank() == 2) check.compare_gradients(model);
}

TEST(TrainingRun, WhatDiffersFromOneProcessIsAFinding) {
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

}  // namespace
}  // namespace gang::harness::training
