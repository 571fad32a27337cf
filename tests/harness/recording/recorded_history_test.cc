#include "harness/recording/recorded_history.h"

#include <gtest/gtest.h>

#include "sim/recording/timeline_recorder.h"
#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

TEST(RecordedHistory, HasEveryCallWithItsEnd) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.begin_at(10);
  job.calls({0, 1}, root, OperationKind::all_reduce, {.line = 3});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 1, .line = 4});
  job.dump(1).end = ProgramEnd::returned;
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  ASSERT_EQ(histories.ranks.size(), 2U);
  EXPECT_EQ(histories.ranks[0].left_out, 10U);
  EXPECT_EQ(histories.ranks[0].end, sim::LaneEnd::none);
  EXPECT_EQ(histories.ranks[1].end, sim::LaneEnd::returned);
  ASSERT_EQ(histories.ranks[0].calls.size(), 2U);
  EXPECT_EQ(histories.ranks[0].calls[0].status, sim::SliceStatus::complete);
  EXPECT_EQ(histories.ranks[0].calls[1].status, sim::SliceStatus::pending);
  const sim::TimelineCall& send = histories.calls[histories.ranks[0].calls[1].call];
  EXPECT_EQ(to_string(send.location), "train.py:4");
  EXPECT_TRUE(is_message(send));
  EXPECT_EQ(to_string(histories.gangs[0].label), "root[0,1]");
}

TEST(RecordedHistory, MessagesMadeAsOneAreABatch) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const int rank : {0, 1})
    for (const OperationKind kind : {OperationKind::send, OperationKind::recv})
      job.call(rank, root, kind, {.peer = 1 - rank, .line = 5, .sequence = 77});
  job.calls({0, 1}, root, OperationKind::barrier);
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  ASSERT_EQ(histories.ranks[1].calls.size(), 2U);
  const sim::TimelineCall& batch = histories.calls[histories.ranks[1].calls[0].call];
  EXPECT_EQ(to_string(batch.call), "batch of 2 operations");
  EXPECT_EQ(to_string(batch.location), "train.py:5");
}

TEST(RecordedHistory, ACollectiveEndsWhenItsLastMemberCallsIt) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto own = job.group("own", {1});
  job.call(1, own, OperationKind::barrier);
  job.calls({0, 1}, root, OperationKind::all_reduce);
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::Timeline timeline = timeline_of(recording, open, histories_of(recording, open));
  ASSERT_EQ(timeline.lanes.size(), 2U);
  EXPECT_EQ(timeline.lanes[0].slices[0].first_step, 1U);
  EXPECT_EQ(timeline.lanes[0].slices[0].last_step, 2U);
  EXPECT_EQ(timeline.lanes[0].slices[0].end, TimePoint(1));
  EXPECT_EQ(timeline.last_step, 2U);
}

TEST(RecordedHistory, ARankWithoutADumpHasNoLane) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::barrier);
  job.lose(1);
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::CallHistories histories = histories_of(recording, open);
  EXPECT_EQ(histories.ranks.size(), 3U);
  EXPECT_TRUE(histories.ranks[1].calls.empty());
  EXPECT_EQ(timeline_of(recording, open, histories).lanes.size(), 2U);
}

TEST(RecordedHistory, TheFirstCallThatDiffersFailsAndLaterOnesArePending) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::all_reduce, {.count = 4});
  job.call(1, root, OperationKind::all_reduce, {.count = 5});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = started});
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  ASSERT_EQ(histories.ranks[0].calls.size(), 2U);
  EXPECT_EQ(histories.ranks[0].calls[0].status, sim::SliceStatus::failed);
  EXPECT_EQ(histories.ranks[0].calls[1].status, sim::SliceStatus::pending);
}

// Messages and collectives are numbered each by themselves.
TEST(RecordedHistory, AMessageDoesNotFailWithTheCollectiveOfItsNumber) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::all_reduce, {.count = 4, .sequence = 1});
  job.call(1, root, OperationKind::all_reduce, {.count = 5, .sequence = 1});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 1, .sequence = 1});
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  EXPECT_EQ(histories.ranks[0].calls.at(0).status, sim::SliceStatus::failed);
  EXPECT_EQ(histories.ranks[0].calls.at(1).status, sim::SliceStatus::pending);
}

TEST(RecordedHistory, BatchesOfDifferentSizesAreDifferentCalls) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const std::uint64_t number : {1U, 2U})
    for (std::uint64_t i = 0; i <= number; ++i) {
      job.call(0, root, OperationKind::send, {.peer = 1, .sequence = number});
      job.call(1, root, OperationKind::recv, {.peer = 0, .sequence = number});
    }
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  const auto& calls = histories.ranks[0].calls;
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(to_string(histories.calls[calls[0].call].call), "batch of 2 operations");
  EXPECT_EQ(to_string(histories.calls[calls[1].call].call), "batch of 3 operations");
}

TEST(RecordedHistory, ABatchIsOpenIfOneOfItsMessagesIs) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.call(0, root, OperationKind::send, {.peer = 1, .sequence = 5});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 2, .sequence = 5});
  job.call(1, root, OperationKind::recv, {.peer = 0});
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  ASSERT_EQ(histories.ranks[0].calls.size(), 1U);
  EXPECT_EQ(histories.ranks[0].calls[0].status, sim::SliceStatus::pending);
}

TEST(RecordedHistory, ABatchIsOpenAlthoughItsLastMessageHasEnded) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 2, .sequence = 5});
  job.call(0, root, OperationKind::send, {.peer = 1, .sequence = 5});
  job.call(1, root, OperationKind::recv, {.peer = 0});
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  ASSERT_EQ(histories.ranks[0].calls.size(), 1U);
  EXPECT_EQ(histories.ranks[0].calls[0].status, sim::SliceStatus::pending);
}

TEST(RecordedHistory, CallsThatDifferInTheirNumberAloneAreDescribedOnce) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  for (int i = 0; i < 3; ++i) job.call(0, root, OperationKind::all_reduce);
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  ASSERT_EQ(histories.calls.size(), 1U);
  EXPECT_EQ(histories.calls[0].call.sequence, std::nullopt);
}

// Rank 0 comes last, at its second step; ranks 1 and 2 have done nothing before.
TEST(RecordedHistory, WhoComesLastEndsACollectiveWhateverTheOrderOfRanks) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  const auto own = job.group("own", {0});
  job.call(0, own, OperationKind::barrier);
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.call(1, root, OperationKind::barrier, {.state = started});
  job.dump(2).end = ProgramEnd::failed;
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::Timeline timeline = timeline_of(recording, open, histories_of(recording, open));
  EXPECT_EQ(timeline.lanes[2].slices.at(0).last_step, 2U);
  EXPECT_EQ(timeline.lanes[2].slices.at(0).end, TimePoint(1));
  EXPECT_EQ(timeline.lanes[2].end, sim::LaneEnd::failed);
  // What has not ended lasts until the end.
  EXPECT_EQ(timeline.lanes[1].slices.at(1).last_step, timeline.last_step);
  EXPECT_EQ(timeline.lanes[1].slices.at(1).end, timeline.end);
  EXPECT_EQ(timeline.end, TimePoint(1));
}

// Messages and collectives are numbered each by themselves.
TEST(RecordedHistory, AMessageDoesNotEndTheCollectiveOfItsNumber) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.sequence = 1});
  job.call(1, root, OperationKind::send, {.peer = 0, .sequence = 1});
  job.call(0, root, OperationKind::recv, {.peer = 1, .sequence = 1});
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::Timeline timeline = timeline_of(recording, open, histories_of(recording, open));
  EXPECT_EQ(timeline.lanes[0].slices.at(0).last_step, 1U);
  EXPECT_EQ(timeline.lanes[0].slices.at(0).end, TimePoint(0));
}

TEST(RecordedHistory, TheLastCallsAreKept) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  const std::size_t kept = sim::TimelineRecorder::calls_per_history(1);
  for (std::size_t i = 0; i < kept + 2; ++i) job.call(0, root, OperationKind::barrier);
  const Recording recording = job.take();
  const sim::CallHistories histories = histories_of(recording, find_open_calls(recording));
  EXPECT_EQ(histories.ranks[0].calls.size(), kept);
  EXPECT_EQ(histories.ranks[0].left_out, 2U);
  EXPECT_EQ(histories.ranks[0].calls.back().sequence_number, kept + 2);
}

TEST(RecordedHistory, TheLastSlicesAreKept) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  const std::size_t kept = sim::TimelineRecorder::slices_per_context(1);
  job.begin_at(10);
  for (std::size_t i = 0; i < kept + 2; ++i) job.call(0, root, OperationKind::barrier);
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::Timeline timeline = timeline_of(recording, open, histories_of(recording, open));
  EXPECT_EQ(timeline.lanes.at(0).slices.size(), kept);
  EXPECT_EQ(timeline.lanes.at(0).left_out, 12U);
}

TEST(RecordedHistory, TimesBeginWithZero) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  for (int i = 0; i < 2; ++i) job.call(0, root, OperationKind::barrier);
  job.dump(0).calls[0].created_ns = -5;
  job.dump(0).calls[1].created_ns = 20;
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::Timeline timeline = timeline_of(recording, open, histories_of(recording, open));
  EXPECT_EQ(timeline.lanes.at(0).slices.at(0).start, TimePoint(0));
  EXPECT_EQ(timeline.lanes.at(0).slices.at(1).start, TimePoint(20));
}

TEST(RecordedHistory, WhatIsPendingLastsUntilTheEndOfAll) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto own = job.group("own", {1});
  job.call(0, root, OperationKind::all_reduce, {.state = started});
  for (int i = 0; i < 3; ++i) job.call(1, own, OperationKind::barrier);
  const Recording recording = job.take();
  const OpenCalls open = find_open_calls(recording);
  const sim::Timeline timeline = timeline_of(recording, open, histories_of(recording, open));
  EXPECT_EQ(timeline.lanes[0].slices.at(0).last_step, 3U);
  EXPECT_EQ(timeline.lanes[0].slices.at(0).end, TimePoint(2));
}

}  // namespace
}  // namespace gang::harness
