#include "harness/recording/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

sim::Report replayed(Job& job) {
  const Recording recording = job.take();
  return replay_open_calls(recording, find_open_calls(recording));
}

// Every kind of operation, open on all ranks, with and without its root.
TEST(Replay, EveryOperationCompletesWithoutData) {
  for (const OperationKind kind : all_operation_kinds) {
    if (is_point_to_point(kind)) continue;
    for (const int root_rank : {no_rank, 1}) {
      Job job(3);
      const auto root = job.group("default_pg", {0, 1, 2});
      job.calls({0, 1, 2}, root, kind,
                {.state = started,
                 .count = 1'000'000'000'000,
                 .peer = has_root(kind) ? root_rank : no_rank});
      const sim::Report report = replayed(job);
      EXPECT_EQ(report.outcome, sim::Outcome::completed) << to_string(kind);
      EXPECT_TRUE(report.findings.empty()) << to_string(kind);
      EXPECT_EQ(report.counts.completed_operations, 1U) << to_string(kind);
    }
  }
}

TEST(Replay, KeepsTheRecordedNumbersAndPlaces) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.number_from(root, 4'000'000'000);
  job.call(0, root, OperationKind::all_reduce, {.state = started, .line = 12});
  const sim::Report report = replayed(job);
  ASSERT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(report.blocked[0].call.sequence, 4'000'000'000U);
  EXPECT_EQ(to_string(report.blocked[0].location), "train.py:12");
}

TEST(Replay, AMismatchDoesNotStopTheOtherGangs) {
  Job job(2);
  job.group("default_pg", {0, 1});
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  job.call(0, a, OperationKind::all_reduce, {.state = started, .is_gloo = true});
  job.call(1, a, OperationKind::barrier, {.state = started, .is_gloo = true});
  job.call(0, b, OperationKind::barrier, {.state = started, .is_gloo = true});
  const sim::Report report = replayed(job);
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].id, "mismatch_operation");
  EXPECT_EQ(report.findings[1].id, "participant_missing");
}

TEST(Replay, TellsWhyARankIsMissing) {
  for (const auto& [end, why] : {std::pair{ProgramEnd::failed, "program failed"},
                                 std::pair{ProgramEnd::none, "recording ends"}}) {
    Job job(2);
    const auto root = job.group("default_pg", {0, 1});
    job.call(0, root, OperationKind::barrier, {.state = started});
    job.dump(1).end = end;
    const sim::Report report = replayed(job);
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_THAT(report.findings[0].message, testing::HasSubstr(why));
  }
}

// A dump does not tell how much the messages of a batch hold together.
TEST(Replay, SizesOfMessagesBesideABatchAreNotCompared) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const std::int64_t count : {1, 2})
    job.call(0, root, OperationKind::send,
             {.state = started, .count = count, .peer = 1, .sequence = 5});
  for (const std::int64_t count : {2, 1})
    job.call(1, root, OperationKind::recv,
             {.state = started,
              .count = count,
              .peer = 0,
              .sequence = static_cast<std::uint64_t>(8 - count)});
  EXPECT_THAT(replayed(job).findings, testing::IsEmpty());
}

TEST(Replay, MessagesOfABatchMeetByTag) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto call = [&](int rank, OperationKind kind, int tag) {
    job.call(rank, root, kind, {.state = started, .peer = 1 - rank, .sequence = 5});
    DumpedCall& last = job.dump(rank).calls.back();
    Collective made = job.table()[last.call];
    made.tag = tag;
    last.call = job.table().index_of(made, "");
  };
  for (int i = 0; i < 2; ++i) {
    call(0, OperationKind::send, 1);
    call(1, OperationKind::recv, 2);
  }
  EXPECT_EQ(replayed(job).outcome, sim::Outcome::deadlock);
}

TEST(Replay, CallsThatMakeGangsMeetTheirLikes) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::create_gang, {.state = started, .count = 0});
  job.call(1, root, OperationKind::split, {.state = started, .count = 0});
  EXPECT_EQ(replayed(job).findings.size(), 1U);
}

TEST(Replay, CallsOutsideOfStreamsDoNotWaitForEachOther) {
  Job job(2);
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  const auto c = job.group("c", {0, 1});
  for (const int rank : {0, 1})
    for (const bool first : {true, false})
      job.call(rank, first == (rank == 0) ? a : b, OperationKind::all_reduce, {.state = started});
  job.call(0, c, OperationKind::barrier, {.state = started, .is_gloo = true});
  const sim::Report report = replayed(job);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, "participant_missing");
}

// Of the batch of rank 0, only the first message is open.
TEST(Replay, WhatIsLeftOfABatchHasNoSize) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 1, .sequence = 5});
  job.call(0, root, OperationKind::send, {.peer = 2, .sequence = 5});
  job.call(1, root, OperationKind::recv, {.state = started, .count = 2, .peer = 0});
  job.call(2, root, OperationKind::recv, {.peer = 0});
  const sim::Report report = replayed(job);
  EXPECT_EQ(report.outcome, sim::Outcome::completed);
  EXPECT_TRUE(report.findings.empty());
}

TEST(Replay, WhatGlooSaysOfACallDoesNotPutItLast) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto other = job.group("other", {0, 1});
  job.call(0, root, OperationKind::all_reduce, {.is_gloo = true});
  job.call(0, other, OperationKind::barrier, {.state = scheduled, .is_gloo = true});
  const sim::Report report = replayed(job);
  ASSERT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(to_string(report.blocked[0].gang), "root[0,1]");
}

TEST(Replay, ABatchHasAsManyOperationsAsMessages) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  for (const int peer : {1, 2})
    job.call(0, root, OperationKind::send, {.state = started, .peer = peer, .sequence = 77});
  const sim::Report report = replayed(job);
  ASSERT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(to_string(report.blocked[0].call), "batch of 2 operations");
}

TEST(Replay, TheSizeOfTheLastMessageOfABatchNeedNotAgree) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.call(0, root, OperationKind::send, {.peer = 1, .sequence = 77});
  job.call(1, root, OperationKind::recv, {.peer = 0});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 2, .sequence = 77});
  job.call(2, root, OperationKind::recv, {.state = started, .count = 5, .peer = 0});
  EXPECT_TRUE(replayed(job).findings.empty());
}

}  // namespace
}  // namespace gang::harness
