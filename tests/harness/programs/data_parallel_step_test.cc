#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_data_parallel_step(std::map<std::string, std::string> parameters,
                                 int world_size = 8) {
  return run(data_parallel_step_program(), {.program = "data_parallel_step",
                                            .world_size = world_size,
                                            .parameters = std::move(parameters)});
}

TEST(DataParallelStep, HoldsWithOtherParameters) {
  const RunResult result = run_data_parallel_step({{"samples", "7"}, {"hidden", "33"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(DataParallelStep, RefusesABatchBeyondItsLimit) {
  EXPECT_THROW(run_data_parallel_step({{"samples", "4096"}}, 2048), InvalidArgument);
}

TEST(DataParallelStep, GivesEveryRankTheSameGradient) {
  const RunResult result =
      run(data_parallel_step_program(), {.program = "data_parallel_step", .world_size = 3},
          {.outputs = KeepOutputs::data});
  for (const auto& outputs : result.outputs.by_rank) {
    EXPECT_EQ(outputs, result.outputs.by_rank.front());
  }
}

}  // namespace
}  // namespace gang::harness
