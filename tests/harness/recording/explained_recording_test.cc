#include "harness/recording/explained_recording.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

sim::Report report_of(Job& job) { return explain(job.take(), "rec", "gangsim explain rec").report; }

// What a finding names.
auto finding_is(std::string_view id, const std::vector<int>& ranks, std::string_view location) {
  return AllOf(Field(&sim::Finding::id, id), Field(&sim::Finding::ranks, ranks),
               Field(&sim::Finding::location, parse_source_location(location)));
}

TEST(ExplainedRecording, AJobThatCompletedHolds) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  for (int i = 0; i < 3; ++i) job.calls({0, 1, 2, 3}, root, OperationKind::all_reduce);
  const RunResult result = explain(job.take(), "rec", "gangsim explain rec");
  EXPECT_TRUE(result.holds());
  EXPECT_EQ(result.report.counts.rank_operations, 12U);
  EXPECT_EQ(to_string(result), "COMPLETED" + std::string(59, ' ') +
                                   "rec, world 4\n"
                                   "\n  Every recorded call has ended.\n"
                                   "  12 calls by 4 ranks in 1 gang\n\n"
                                   "  Certainty  as recorded\n");
}

TEST(ExplainedRecording, NamesTheRankThatSkippedACall) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  job.calls({0, 1, 2, 3}, root, OperationKind::all_reduce, {.line = 10});
  job.calls({0, 1, 3}, root, OperationKind::all_reduce, {.state = started, .line = 20});
  job.call(2, root, OperationKind::broadcast, {.state = started, .line = 30});
  job.calls({0, 1, 3}, root, OperationKind::broadcast, {.state = scheduled, .line = 30});
  const sim::Report report = report_of(job);
  EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(report.findings, ElementsAre(finding_is("mismatch_operation", {2}, "train.py:30")));
  EXPECT_THAT(report.findings[0].message, HasSubstr("Rank 2 called broadcast"));
  ASSERT_TRUE(report.findings[0].certainty && report.findings[0].certainty->recorded);
}

TEST(ExplainedRecording, NamesTheRankWhoseRecordingEnds) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  job.number_from(root, 1204);
  job.begin_at(1204);
  job.calls({0, 1, 2, 3}, root, OperationKind::all_reduce, {.line = 10});
  job.calls({0, 1, 3}, root, OperationKind::all_reduce, {.state = started, .line = 10});
  const sim::Report report = report_of(job);
  EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
  ASSERT_THAT(report.findings, ElementsAre(finding_is("participant_missing", {2}, "train.py:10")));
  const sim::Finding& finding = report.findings[0];
  EXPECT_EQ(finding.call.sequence, 1205U);
  EXPECT_EQ(finding.message,
            "No call of all_reduce #1205 at train.py:10 on root[0-3] (4 members) is recorded for "
            "rank 2: rank 2's recording ends.");
  ASSERT_TRUE(finding.divergence);
  EXPECT_EQ(finding.divergence->last_common.call.sequence, 1204U);
  ASSERT_THAT(report.blocked, SizeIs(3));
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(2));
}

TEST(ExplainedRecording, AMissingDumpIsNoProof) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce, {.line = 10});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = started, .line = 20});
  job.lose(2);
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.findings, ElementsAre(finding_is("participant_missing", {2}, "train.py:20")));
  EXPECT_THAT(report.findings[0].message, HasSubstr("rank 2's dump is missing"));
  EXPECT_THAT(report.certainty->recorded->missing, ElementsAre(2));
}

TEST(ExplainedRecording, FindsTheCycleThatTheOfficialAnalyserTellsAsTwoAbsences) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  job.calls({0, 1, 2, 3}, root, OperationKind::barrier, {.state = scheduled, .is_gloo = true});
  job.call(0, a, OperationKind::all_reduce, {.state = scheduled, .line = 3, .is_gloo = true});
  job.call(1, b, OperationKind::all_gather, {.state = scheduled, .line = 4, .is_gloo = true});
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].id, "cross_gang_cycle");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  ASSERT_THAT(report.blocked, SizeIs(2));
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1));
  EXPECT_THAT(report.blocked[1].waits_for, ElementsAre(0));
}

TEST(ExplainedRecording, FindsTheOrderOfLaunchesThatStreamsCannotPass) {
  Job job(2);
  job.group("default_pg", {0, 1});
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  job.call(0, a, OperationKind::all_reduce, {.state = started, .line = 3});
  job.call(0, b, OperationKind::all_reduce, {.state = scheduled, .line = 4});
  job.call(1, b, OperationKind::all_reduce, {.state = started, .line = 4});
  job.call(1, a, OperationKind::all_reduce, {.state = scheduled, .line = 3});
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].id, "stream_order_inversion");
  EXPECT_EQ(report.findings[0].certainty->streams, sim::Dependence::needed);
}

TEST(ExplainedRecording, CompletedCallsInAnyOrderAreNoInversion) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  for (const auto& [rank, first, second] : {std::tuple{0, a, b}, std::tuple{1, b, a}}) {
    job.call(rank, first, OperationKind::all_reduce);
    job.call(rank, second, OperationKind::all_reduce);
  }
  job.call(0, root, OperationKind::barrier, {.state = started, .line = 9});
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.findings, ElementsAre(finding_is("participant_missing", {1}, "train.py:9")));
}

TEST(ExplainedRecording, NamesTheOddSize) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce, {.state = started, .line = 9});
  job.call(3, root, OperationKind::all_reduce, {.state = started, .count = 5, .line = 9});
  const sim::Report report = report_of(job);
  EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
  ASSERT_THAT(report.findings, ElementsAre(finding_is("mismatch_count", {3}, "train.py:9")));
  EXPECT_THAT(report.findings[0].consequences, IsEmpty());
}

TEST(ExplainedRecording, TwoReceivesHeadToHeadAreACycle) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::recv, {.state = started, .peer = 1, .line = 3});
  job.call(1, root, OperationKind::recv, {.state = started, .peer = 0, .line = 4});
  EXPECT_THAT(report_of(job).findings,
              ElementsAre(Field(&sim::Finding::id, "point_to_point_cycle")));
}

TEST(ExplainedRecording, ABatchOfMessagesProgressesTogether) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const int rank : {0, 1}) {
    job.call(rank, root, OperationKind::send, {.state = started, .peer = 1 - rank, .sequence = 77});
    job.call(rank, root, OperationKind::recv, {.state = started, .peer = 1 - rank, .sequence = 77});
  }
  job.call(0, root, OperationKind::barrier, {.state = scheduled, .line = 9});
  EXPECT_THAT(report_of(job).findings,
              ElementsAre(finding_is("participant_missing", {1}, "train.py:9")));
}

TEST(ExplainedRecording, CallsThatAllMadeAndThatDidNotEndAreNoFaultOfTheProgram) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce, {.state = started, .line = 9});
  const sim::Report report = report_of(job);
  EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
  ASSERT_THAT(report.findings, ElementsAre(finding_is("deadlock", {0, 1, 2}, "train.py:9")));
  EXPECT_EQ(report.findings[0].message,
            "Ranks 0-2 called all_reduce #1 f32[4] on root[0-2] at train.py:9, and it has not "
            "ended.");
  EXPECT_THAT(report.blocked, SizeIs(3));
}

TEST(ExplainedRecording, TheRanksOfACallThatHasNotEndedAreInOrder) {
  Job job(3);
  job.group("default_pg", {0, 1, 2});
  const auto tp = job.group("tp", {2, 0, 1});
  job.calls({0, 1, 2}, tp, OperationKind::all_reduce, {.state = started, .line = 9});
  EXPECT_THAT(report_of(job).findings,
              ElementsAre(finding_is("deadlock", {0, 1, 2}, "train.py:9")));
}

// Rank 2 skips line 20 once; its later calls still match those of the others.
TEST(ExplainedRecording, ARankThatSkippedACallLongAgoIsNamedWithWhatItCalledInstead) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  for (const std::uint32_t line : {10U, 20U, 10U, 20U, 10U})
    job.calls({0, 1, 3}, root, OperationKind::all_reduce, {.line = line});
  for (const std::uint32_t line : {10U, 20U, 10U, 10U, 20U})
    job.call(2, root, OperationKind::all_reduce, {.line = line});
  job.calls({0, 1, 3}, root, OperationKind::all_reduce, {.state = started, .line = 20});
  job.call(2, root, OperationKind::barrier, {.state = started, .line = 30});
  EXPECT_THAT(report_of(job).findings,
              ElementsAre(finding_is("mismatch_operation", {2}, "train.py:10")));
}

TEST(ExplainedRecording, SeveralFaultsAreSeveralFindings) {
  Job job(8);
  job.group("default_pg", {0, 1, 2, 3, 4, 5, 6, 7});
  const auto low = job.group("low", {0, 1, 2, 3});
  const auto high = job.group("high", {4, 5, 6, 7});
  job.calls({0, 1, 2}, low, OperationKind::all_reduce, {.state = started, .line = 10});
  job.calls({4, 5, 6}, high, OperationKind::all_gather, {.state = started, .line = 20});
  const sim::Report report = report_of(job);
  EXPECT_THAT(report.findings, ElementsAre(finding_is("participant_missing", {3}, "train.py:10"),
                                           finding_is("participant_missing", {7}, "train.py:20")));
}

TEST(ExplainedRecording, ASourceThatCompletedItsBroadcastIsNotHeldUp) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.call(0, root, OperationKind::broadcast, {.line = 3});
  job.call(0, root, OperationKind::all_reduce, {.state = started, .line = 4});
  job.call(1, root, OperationKind::broadcast, {.state = started, .line = 3});
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.blocked, SizeIs(2));
  EXPECT_EQ(report.blocked[0].call.kind, "all_reduce");
  EXPECT_EQ(report.blocked[1].call.kind, "broadcast");
}

TEST(ExplainedRecording, ShowsTheRecordedTimes) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.line = 3});
  job.call(0, root, OperationKind::barrier, {.state = started, .line = 4});
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.timeline.lanes, SizeIs(2));
  ASSERT_THAT(report.timeline.lanes[0].slices, SizeIs(2));
  EXPECT_EQ(report.timeline.lanes[0].slices[1].start, TimePoint(1));
  EXPECT_EQ(report.timeline.lanes[0].slices[1].status, sim::SliceStatus::pending);
  EXPECT_EQ(report.timeline.lanes[1].slices[0].status, sim::SliceStatus::complete);
}

TEST(ExplainedRecording, OfSeveralCallsThatHaveNotEndedTheFirstIsNamed) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto pair = job.group("pair", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = started});
  job.calls({0, 1}, pair, OperationKind::broadcast, {.state = scheduled});
  const sim::Report report = report_of(job);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].call.kind, "all_reduce");
  EXPECT_EQ(report.findings[0].location, SourceLocation());
  EXPECT_THAT(report.findings[0].message, testing::Not(HasSubstr(" at ")));
  ASSERT_THAT(report.blocked, SizeIs(2));
  EXPECT_EQ(to_string(report.blocked[1].gang), "root[0,1]");
}

TEST(ExplainedRecording, ADumpThatIsOlderThanTheOthersIsSaidToBe) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.calls({0, 1}, root, OperationKind::all_reduce);
  const sim::Report report = report_of(job);
  ASSERT_TRUE(report.certainty && report.certainty->recorded);
  EXPECT_THAT(report.certainty->recorded->notes,
              ElementsAre("rank 2 has a dump older than those of the others"));
}

TEST(ExplainedRecording, CountsTheCallsOfTheDumps) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce);
  job.call(0, root, OperationKind::barrier, {.state = started});
  const RunResult result = explain(job.take(), "rec", "explain");
  EXPECT_EQ(result.report.counts.rank_operations, 3U);
  EXPECT_EQ(result.report.counts.gangs, 1U);
  EXPECT_EQ(result.report.counts.completed_operations, 0U);
}

}  // namespace
}  // namespace gang::harness
