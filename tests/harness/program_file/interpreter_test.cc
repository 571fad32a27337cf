#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program_file/program_file.h"
#include "tests/harness/program_file/program_file_testing.h"

namespace gang::harness::program_file {
namespace {

TEST(Interpret, RunsBlocksInOrderForTheirRanks) {
  const RunResult result = run_text(R"(
world = 4
[[do]]
ranks = "even"
calls = ["root send f32[4] to rank + 1"]
[[do]]
ranks = "odd"
calls = ["root recv f32[4] from rank - 1"]
[[do]]
calls = ["root barrier"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 8U);
}

TEST(Interpret, RepeatsWithConditionsInEveryIteration) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
repeat = 3
calls = ["root barrier"]
  [[do.do]]
  when = "iteration == 2 or world > 5"
  calls = ["root all_reduce sum f32[8]"]
    [[do.do.do]]
    repeat = 2
    when = "iteration == 1"
    calls = ["root barrier"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 2U * (3 + 1 + 1));
}

TEST(Interpret, AnIterationEndsWithItsRepeat) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
repeat = 3
calls = ["root barrier"]
  [[do.do]]
  repeat = 4
  calls = ["root barrier"]
  [[do.do]]
  when = "iteration == 2"
  calls = ["root all_reduce sum f32[8]"]
[[do]]
when = "iteration == 0"
calls = ["root all_reduce sum f32[8]"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 2U * (3 + 3 * 4 + 1 + 1));
}

TEST(Interpret, NamesTheLineOfEveryBlockedCall) {
  const RunResult result = run_text(R"(world = 2
[[do]]
ranks = [0]
calls = [
  "root barrier",
  "root all_reduce sum f32[8]",
]
[[do]]
ranks = [1]
calls = ["root barrier"])");
  ASSERT_EQ(result.report.blocked.size(), 1U);
  EXPECT_EQ(to_string(result.report.blocked[0].location), "suspect.toml:6");
}

TEST(Interpret, WaitsForStartedOperations) {
  const RunResult result = run_text(R"(
world = 3
[[do]]
calls = [
  "a = root start all_reduce sum f32[8]",
  "b = root start barrier",
  "c = root start broadcast f32[2] root 1",
  "wait a, c",
  "wait b timeout 1 s",
  "sleep 5 ms",
  "yield",
  "d = root start barrier",
  "e = root start barrier",
  "wait e",
  "wait_any d",
]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.virtual_time, std::chrono::milliseconds{5});
}

TEST(Interpret, ARankThatWaitsForUnstartedWorkFails) {
  const RunResult result = run_text(R"(
world = 1
[[do]]
calls = ["a = root start barrier", "wait a", "wait a"]
)");
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("has not started a"));
}

TEST(Interpret, WorkThatIsNeverAwaitedIsAFinding) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
ranks = [0]
calls = ["a = root start send f32[4] to 1"]
)");
  EXPECT_FALSE(result.holds());
}

TEST(Interpret, CreatesDeclaredGangsInTheGivenOrder) {
  const RunResult result = run_text(R"(
world = 4
[gangs]
pair = [[0, 3], [2, 1]]
[[do]]
ranks = [0, 2]
calls = ["pair send u8[1] to 1", "return", "throw \"unreachable\""]
[[do]]
ranks = [1, 3]
calls = ["pair recv u8[1] from 0", "pair close"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Interpret, ThrowsWhatTheFileSays) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
ranks = [1]
calls = ["throw \"out of paper\""]
)");
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::rank_failed);
  EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("out of paper"));
}

TEST(Interpret, ARankThatNamesAnotherGangFails) {
  const RunResult result = run_text(R"(world = 2
[gangs]
one = [0]
[[do]]
calls = ["one barrier"])");
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_THAT(result.report.findings[0].message,
              testing::HasSubstr("suspect.toml:5:11: rank 1 is not a member of gang 'one'"));
}

TEST(Interpret, AReturnEndsTheProgramFromAnyDepth) {
  const RunResult result = run_text(R"(
world = 1
[[do]]
repeat = 2
  [[do.do]]
  calls = ["root barrier", "return"]
[[do]]
calls = ["root barrier"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 1U);
}

TEST(Interpret, AConditionSkipsOneIterationOnly) {
  const RunResult result = run_text(R"(
world = 1
[[do]]
repeat = 4
when = "iteration != 1"
calls = ["root barrier"]
)");
  EXPECT_EQ(result.report.counts.rank_operations, 3U);
}

TEST(Interpret, AnInnerBlockSeesTheIterationOfTheLoopAroundIt) {
  const RunResult result = run_text(R"(
world = 1
[[do]]
repeat = 3
  [[do.do]]
    [[do.do.do]]
    when = "iteration == 2"
    calls = ["root barrier"]
)");
  EXPECT_EQ(result.report.counts.rank_operations, 1U);
}

TEST(Interpret, WhatWasTestedSuccessfullyIsComplete) {
  const RunResult result = run_text(R"(
world = 1
[[do]]
calls = ["a = root start barrier", "test a", "wait a"]
)");
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("has not started a"));
}

TEST(Interpret, AWaitThatTimesOutMayBeRepeated) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
ranks = [0]
calls = ["a = root start barrier", "wait a timeout 1 ms", "wait a"]
[[do]]
ranks = [1]
calls = ["sleep 5 ms", "root barrier"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Interpret, OfSeveralTheOneThatHasEndedIsComplete) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
ranks = [0]
calls = [
  "a = root start recv f32[1] from 1 tag 1",
  "b = root start recv f32[1] from 1 tag 2",
  "wait_any a b",
  "wait a",
]
[[do]]
ranks = [1]
calls = ["root send f32[1] to 0 tag 2", "sleep 5 ms", "root send f32[1] to 0 tag 1"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Interpret, ALayoutHasItsNodes) {
  const RunResult result = run_text(R"(
world = 8
layout = { tp = 2, intra_node = 2 }
[[do]]
calls = ["sdp barrier"]
[[do]]
ranks = [0]
calls = ["sdp barrier"]
)");
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(to_string(result.report.findings[0].gang), "sdp[0,2]");
}

TEST(RankSelection, CountsStepsFromItsFirstRank) {
  const RankSelection selection{.ranges = {{1, 7, 3}}};
  for (int rank = 0; rank < 9; ++rank)
    EXPECT_EQ(selection.contains(rank), rank == 1 || rank == 4 || rank == 7) << rank;
}

TEST(Interpret, BesideBatchesWithoutDataMessagesHaveNoSizes) {
  const std::string message = R"(
world = 2
data = false
[[do]]
ranks = [0]
calls = ["root send f32[4] to 1"]
[[do]]
ranks = [1]
calls = ["root recv f32[2] from 0"]
)";
  const RunResult alone = run_text(message);
  ASSERT_FALSE(alone.report.findings.empty());
  EXPECT_EQ(alone.report.findings[0].id, "mismatch_count");
  const RunResult beside = run_text(message + R"(
[[do]]
  [[do.do]]
  ranks = [0]
  calls = ["root batch send f32[4] to 1"]
  [[do.do]]
  ranks = [1]
  calls = ["root batch recv f32[4] from 0"]
)");
  EXPECT_TRUE(beside.holds()) << to_string(beside);
}

}  // namespace
}  // namespace gang::harness::program_file
