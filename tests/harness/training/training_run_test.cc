#include "harness/training/training_run.h"

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

}  // namespace
}  // namespace gang::harness::training
