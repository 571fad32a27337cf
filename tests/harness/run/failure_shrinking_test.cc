// Makes a failing run smaller, and writes it down.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program_file/program_source.h"
#include "harness/run/exploration.h"
#include "harness/run/fault_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

// Whoever meets a second error takes it for success.
Program careless_loop_program() {
  return {.name = "careless",
          .description = "",
          .run =
              [](Rank& rank) {
                std::int32_t sum = 1;
                for (std::int64_t i = 0; i < rank.parameter<std::int64_t>("steps"); ++i) {
                  try {
                    rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                  } catch (const GangError&) {
                  }
                }
                rank.output("sum", sum);
              },
          .parameters = {integer_parameter("steps", 5, {1, 10}, "sums")},
          .default_world_size = 8};
}

constexpr const char* many_faults = R"(
[[fault]]
kind = "slow"
ranks = [1, 2]
delay = "1s"
[[fault]]
kind = "crash"
ranks = [5, 6]
operation = 3
moment = "after"
notice = "3s"
[[fault]]
kind = "late_start"
ranks = [0]
delay = "1s"
)";

class FailureShrinking : public testing::Test {
 protected:
  FailureShrinking()
      : program_(careless_loop_program()),
        failure_(run(program_, {.program = "careless",
                                .world_size = 8,
                                .schedule = ScheduleChoice::random,
                                .faults = parse_faults(many_faults, ""),
                                .options = {.seed = 3}})) {}

  Program program_;
  RunResult failure_;
};

TEST_F(FailureShrinking, KeepsTheOneFaultThatMatters) {
  ASSERT_TRUE(is_failure(failure_)) << to_string(failure_);
  const SmallerFailure smaller = shrink_failure(program_, failure_);
  ASSERT_TRUE(is_failure(smaller.result)) << to_string(smaller.result);
  const RunSpecification& specification = smaller.result.specification;
  ASSERT_EQ(specification.faults->faults.size(), 1u);
  EXPECT_EQ(specification.faults->faults[0].kind, sim::FaultKind::crash);
  EXPECT_EQ(specification.faults->faults[0].ranks.size(), 1u);
  EXPECT_EQ(specification.schedule, ScheduleChoice::round_robin);
  EXPECT_LT(*specification.world_size, 8);
  EXPECT_GT(smaller.steps, 3u);
}

// In a small world, this program fails otherwise.
TEST(ShrinkFailure, KeepsTheFinding) {
  const Program program{.name = "two_bugs",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              if (rank.world_size() > 3) rank.wrong_result("of a large world");
                              if (rank.world_size() > 3) return;
                              rank.root()->start_barrier();
                            },
                        .default_world_size = 8};
  const auto first_finding = [](const RunResult& result) {
    return result.report.findings.at(0).id;
  };
  EXPECT_EQ(first_finding(run(program, {.program = "two_bugs", .world_size = 2})), "unwaited_work");
  const SmallerFailure smaller =
      shrink_failure(program, run(program, {.program = "two_bugs", .world_size = 8}));
  EXPECT_EQ(first_finding(smaller.result), "wrong_result");
  EXPECT_EQ(smaller.result.world_size, 4);
}

TEST_F(FailureShrinking, TheScenarioIsTheSameRun) {
  const SmallerFailure smaller = shrink_failure(program_, failure_);
  const std::string path = test::temporary_directory() + "found.toml";
  std::ofstream(path) << to_scenario(smaller.result, "careless", "Found in a test.");
  const ProgramSource source = find_program_source({program_}, path);
  const RunResult again = run(source.program, source.specification);
  EXPECT_EQ(again.report.trace.digest, smaller.result.report.trace.digest);
  EXPECT_EQ(again.uncontained, smaller.result.uncontained);
  EXPECT_EQ(unmet_expectation(source.expectation, again), "");
}

}  // namespace
}  // namespace gang::harness
