#include "harness/programs/all_programs.h"

#include <gtest/gtest.h>

#include "harness/run/runner.h"

namespace gang::harness {
namespace {

class BuiltInProgram : public testing::TestWithParam<Program> {};

TEST_P(BuiltInProgram, HoldsInWorldsSchedulesAndModels) {
  for (const int world_size : {1, 2, 3, 8}) {
    for (const auto execution :
         {sim::ExecutionModel::independent, sim::ExecutionModel::stream_ordered}) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const RunResult result =
            run(GetParam(), {.program = GetParam().name,
                             .world_size = world_size,
                             .schedule = ScheduleChoice::random,
                             .options = {.seed = seed, .execution = execution}});
        EXPECT_TRUE(result.holds()) << to_string(result);
      }
    }
  }
}

TEST_P(BuiltInProgram, HasAResultThatDoesNotDependOnTheSchedule) {
  RunSpecification specification{.program = GetParam().name, .world_size = 6};
  const RunResult in_order = run(GetParam(), specification);
  specification.schedule = ScheduleChoice::recheck;
  const RunResult at_random = run(GetParam(), specification);
  EXPECT_TRUE(at_random.holds()) << to_string(at_random);
  EXPECT_EQ(in_order.outputs.digest, at_random.outputs.digest);
}

TEST_P(BuiltInProgram, RunsOnThreadsAsOnFibers) {
  RunSpecification specification{.program = GetParam().name, .world_size = 4};
  specification.options.context = sim::ContextKind::thread;
  const RunResult on_threads = run(GetParam(), specification);
  specification.options.context = sim::ContextKind::parallel;
  const RunResult in_parallel = run(GetParam(), specification);
  EXPECT_TRUE(on_threads.holds()) << to_string(on_threads);
  EXPECT_TRUE(in_parallel.holds()) << to_string(in_parallel);
  EXPECT_EQ(on_threads.outputs.digest, in_parallel.outputs.digest);
}

INSTANTIATE_TEST_SUITE_P(AllPrograms, BuiltInProgram, testing::ValuesIn(all_programs()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace gang::harness
