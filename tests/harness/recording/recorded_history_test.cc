#include "harness/recording/recorded_history.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gang::harness
