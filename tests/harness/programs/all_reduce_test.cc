#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_all_reduce(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(
      all_reduce_program(),
      {.program = "all_reduce", .world_size = world_size, .parameters = std::move(parameters)});
}

TEST(AllReduce, HoldsWithOtherParameters) {
  const RunResult result =
      run_all_reduce({{"count", "100"}, {"type", "bf16"}, {"op", "mean"}, {"iterations", "3"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(AllReduce, RejectsAnOperationNotDefinedForTheType) {
  EXPECT_THROW(run_all_reduce({{"type", "f32"}, {"op", "bxor"}}), InvalidArgument);
}

TEST(AllReduce, CountsItsIterations) {
  EXPECT_EQ(run_all_reduce({{"iterations", "50"}}, 3).report.counts.rank_operations, 150U);
}

TEST(AllReduce, OutputsWhatItReduced) {
  const RunResult result =
      run(all_reduce_program(),
          {.program = "all_reduce", .world_size = 3, .parameters = {{"count", "5"}}},
          {.outputs = KeepOutputs::data});
  ASSERT_EQ(result.outputs.by_rank.size(), 3U);
  for (const auto& outputs : result.outputs.by_rank) {
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].count, 5);
  }
}

TEST(AllReduce, HoldsForFewElementsOfEveryType) {
  for (const DataType type : all_data_types)
    for (const char* count : {"0", "1", "2", "3"}) {
      const RunResult result =
          run_all_reduce({{"count", count}, {"type", std::string(to_string(type))}, {"op", "max"}});
      EXPECT_TRUE(result.holds()) << to_string(type) << '\n' << to_string(result);
    }
}

TEST(AllReduce, ARefusalNamesTheOperationAndTheType) {
  EXPECT_THAT([] { run_all_reduce({{"type", "f32"}, {"op", "bxor"}}); },
              testing::ThrowsMessage<InvalidArgument>("op bxor is not defined for type f32"));
}

}  // namespace
}  // namespace gang::harness
