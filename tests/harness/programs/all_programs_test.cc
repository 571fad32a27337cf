#include "harness/programs/all_programs.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/run/exploration.h"
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

TEST_P(BuiltInProgram, HoldsOnEverySimulatedBackend) {
  for (const BackendKind backend : {BackendKind::sim_gloo, BackendKind::sim_nccl}) {
    const RunResult result =
        run(GetParam(), {.program = GetParam().name, .world_size = 4, .backend = backend});
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

INSTANTIATE_TEST_SUITE_P(AllPrograms, BuiltInProgram, testing::ValuesIn(all_programs()),
                         [](const auto& tested) { return tested.param.name; });

TEST(BuiltInPrograms, AreListedByName) {
  std::vector<std::string> names;
  for (const Program& program : all_programs()) names.push_back(program.name);
  EXPECT_EQ(names, (std::vector<std::string>{"all_reduce", "data_parallel", "data_parallel_step",
                                             "ddp", "every_collective", "fsdp", "hybrid", "mesh",
                                             "ring", "tp", "trainer"}));
}

TEST(BuiltInPrograms, WithoutContestedChoicesAreProvedByOneRun) {
  using Parameters = std::map<std::string, std::string>;
  std::vector<RunSpecification> specifications = {
      {.program = "ring", .world_size = 64},
      {.program = "mesh", .world_size = 64, .parameters = {{"tp", "4"}, {"pp", "4"}}},
      {.program = "ddp", .world_size = 4},
      {.program = "fsdp", .world_size = 4},
      {.program = "fsdp", .world_size = 8, .parameters = {{"intra_node", "4"}}},
      {.program = "tp", .world_size = 4}};
  for (const char* schedule : {"gpipe", "1f1b", "interleaved_1f1b", "zero_bubble_h1"})
    for (const Parameters& sizes : {Parameters{{"pp", "4"}}, {{"pp", "2"}, {"tp", "2"}}}) {
      Parameters parameters = sizes;
      parameters["schedule"] = schedule;
      specifications.push_back(
          {.program = "hybrid", .world_size = 8, .parameters = std::move(parameters)});
    }
  const std::vector<Program> programs = all_programs();
  for (const RunSpecification& specification : specifications) {
    const Exploration all = explore(find_program(programs, specification.program), specification,
                                    {.strategy = Strategy::exhaustive});
    EXPECT_EQ(all.claim, Claim::proved) << specification.program;
    EXPECT_EQ(all.every->classes, 1U) << specification.program;
    EXPECT_EQ(all.every->contests, 0U) << specification.program;
  }
}

// What rank 1 contributes to its operation of this number is changed on the way.
RunResult run_corrupted(const Program& program, std::uint64_t operation,
                        sim::Corruption corruption = sim::Corruption::bit_flip) {
  sim::Fault fault{.kind = sim::FaultKind::corrupt_contribution, .ranks = {1}};
  fault.trigger.operation = operation;
  fault.corruption = corruption;
  RunSpecification specification{.program = program.name, .world_size = 4};
  specification.faults = sim::FaultPlan{.faults = {fault}};
  return run(program, specification);
}

TEST(BuiltInPrograms, SayThatWhatTheyGotIsWrong) {
  const std::vector<std::pair<Program, std::uint64_t>> corrupted = {
      {ring_program(), 0},
      {all_reduce_program(), 0},
      {mesh_program(), 0},
      {every_collective_program(), 0},
      {data_parallel_step_program(), 0},
      {data_parallel_program(), 0},
      {ddp_program(), 0},
      {fsdp_program(), 1},
      {tp_program(), 0},
      {hybrid_program(), 1}};
  for (const auto& [program, operation] : corrupted) {
    const RunResult result = run_corrupted(program, operation);
    ASSERT_EQ(result.report.faults.size(), 1U) << program.name;
    ASSERT_FALSE(result.report.findings.empty()) << program.name;
    EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result) << program.name;
  }
}

TEST(BuiltInPrograms, SayThatAValueIsNoNumber) {
  const RunResult result = run_corrupted(data_parallel_step_program(), 0, sim::Corruption::nan);
  ASSERT_EQ(result.report.faults.size(), 1U);
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
}

}  // namespace
}  // namespace gang::harness
