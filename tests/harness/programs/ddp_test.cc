#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_ddp(std::map<std::string, std::string> parameters, int world_size = 4) {
  return run(ddp_program(),
             {.program = "ddp", .world_size = world_size, .parameters = std::move(parameters)},
             {.timeline = sim::Recording::on, .outputs = KeepOutputs::data});
}

TEST(Ddp, EqualsOneProcessWithOtherParameters) {
  for (const int world_size : {1, 3, 5}) {
    const RunResult result = run_ddp(
        {{"hidden", "9"}, {"layers", "4"}, {"bucket", "1"}, {"accumulate", "3"}}, world_size);
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(Ddp, EqualsOneProcessForALanguageModel) {
  const RunResult result = run_ddp({{"model", "transformer"}, {"hidden", "8"}, {"layers", "2"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Ddp, GivesTheSameWhetherBucketsOverlapOrNot) {
  const RunResult overlapping = run_ddp({{"overlap", "asynchronous"}});
  const RunResult blocking = run_ddp({{"overlap", "blocking"}});
  EXPECT_TRUE(blocking.holds()) << to_string(blocking);
  EXPECT_EQ(overlapping.outputs.by_rank, blocking.outputs.by_rank);
  EXPECT_NE(overlapping.report.trace.digest, blocking.report.trace.digest);
}

TEST(Ddp, GivesTheSameForAnyBucketsAndAccumulation) {
  const RunResult one_bucket = run_ddp({{"bucket", "1000000"}});
  EXPECT_EQ(one_bucket.outputs.by_rank, run_ddp({{"bucket", "1"}}).outputs.by_rank);
  EXPECT_EQ(one_bucket.outputs.by_rank, run_ddp({{"accumulate", "4"}}).outputs.by_rank);
}

TEST(Ddp, ReducesOncePerStepHoweverManyPassesAreAccumulated) {
  EXPECT_EQ(run_ddp({{"accumulate", "4"}}).report.counts.rank_operations,
            run_ddp({}).report.counts.rank_operations);
}

// The last operation gives all ranks the buffer of rank 0.
TEST(Ddp, ABufferThatIsNotThatOfRank0IsFound) {
  const std::uint64_t operations = run_ddp({}).report.counts.rank_operations / 4;
  sim::Fault fault{.kind = sim::FaultKind::corrupt_result, .ranks = {2}};
  fault.trigger.operation = operations - 1;
  RunSpecification specification{.program = "ddp", .world_size = 4};
  specification.faults = sim::FaultPlan{.faults = {fault}};
  const RunResult result = run(ddp_program(), specification);
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.report.findings[0].message, "The buffer differs from rank 0's.");
}

TEST(Ddp, EveryRankHasTheSameModel) {
  const RunResult result = run_ddp({});
  for (const auto& outputs : result.outputs.by_rank) {
    EXPECT_EQ(outputs, result.outputs.by_rank.front());
  }
}

TEST(Ddp, CanSkipTheComparisonInALargeWorld) {
  const RunResult result = run_ddp({{"samples", "64"}, {"steps", "1"}, {"compare", "false"}}, 512);
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Ddp, RejectsWhatItCannotCheck) {
  EXPECT_THROW(run_ddp({{"samples", "256"}}, 128), InvalidArgument);
  EXPECT_THROW(run_ddp({{"model", "transformer"}, {"hidden", "9"}}), InvalidArgument);
}

TEST(Ddp, BuffersAreThoseOfRank0BeforeEveryStepAndAtTheEnd) {
  std::vector<HeardCall> calls;
  run(heard(ddp_program(), calls),
      {.program = "ddp", .world_size = 2, .parameters = {{"steps", "3"}}});
  EXPECT_EQ(std::ranges::count_if(calls,
                                  [](const HeardCall& call) {
                                    return call.label == "buffers" && call.rank == 1 &&
                                           call.kind == OperationKind::broadcast;
                                  }),
            3 + 1);
}

TEST(Ddp, AModelThatDiffersBetweenRanksIsFoundWithoutTheComparison) {
  const Program wrong =
      altered(ddp_program(), {.after = [](const Gang& gang, Operation& operation) {
                if (gang.rank() != 2 || operation.collective.label != "linear0.weight") return;
                double weight = 0;
                std::memcpy(&weight, operation.output.data(), sizeof weight);
                weight += weight > 0 ? -0.5 : 0.5;  // weights are clamped to [-1, 1]
                std::memcpy(operation.output.data(), &weight, sizeof weight);
              }});
  const RunResult result = run(
      wrong,
      {.program = "ddp", .world_size = 4, .parameters = {{"compare", "false"}, {"steps", "1"}}});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("the model differs between"));
}

}  // namespace
}  // namespace gang::harness
