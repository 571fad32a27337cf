#include "harness/recording/open_calls.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OpenCalls, WhatAllMembersCompletedHasEnded) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  for (int i = 0; i < 5; ++i) job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(open.groups[0].first, std::nullopt);
}

TEST(OpenCalls, BeginWithTheFirstThatAMemberLacks) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = started});
  job.calls({0}, root, OperationKind::barrier, {.state = scheduled});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 2U);
  EXPECT_TRUE(open.groups[0].has_common);
  EXPECT_THAT(open.of_rank[0], ElementsAre(1, 2));
  EXPECT_THAT(open.of_rank[1], ElementsAre(1));
  EXPECT_THAT(open.of_rank[2], IsEmpty());
  EXPECT_THAT(open.common_of_rank[2], ElementsAre(0));
}

TEST(OpenCalls, AGlooCallHasEndedWhenAllMembersMadeIt) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = scheduled, .is_gloo = true});
  job.call(0, root, OperationKind::barrier, {.state = scheduled, .is_gloo = true});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 2U);
  EXPECT_THAT(open.of_rank[0], ElementsAre(1));
}

TEST(OpenCalls, TheLastGlooCallOfAllMembersHasEnded) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = scheduled, .is_gloo = true});
  EXPECT_TRUE(find_open_calls(job.take()).empty());
}

TEST(OpenCalls, CallsAreAlignedByNumberInWhateverOrderTheyAreDumped) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const std::uint64_t number : {2U, 1U})
    job.call(0, root, OperationKind::all_reduce, {.sequence = number});
  for (const std::uint64_t number : {1U, 2U})
    job.call(1, root, OperationKind::all_reduce, {.sequence = number});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(open.early, IsEmpty());
}

TEST(OpenCalls, TheCommonCallHasTheNumberBeforeTheFirstOpenOne) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, OperationKind::all_reduce, {.sequence = 3});
  job.call(0, root, OperationKind::all_reduce, {.state = started, .sequence = 5});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 5U);
  EXPECT_FALSE(open.groups[0].has_common);
  EXPECT_THAT(open.common_of_rank[0], IsEmpty());
}

TEST(OpenCalls, CompletedCallsThatDifferAreOpen) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::all_reduce, {.count = 4});
  job.call(1, root, OperationKind::all_reduce, {.count = 5});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 1U);
  EXPECT_TRUE(open.groups[0].differs);
}

TEST(OpenCalls, RingsAreAlignedByNumber) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (int i = 0; i < 10; ++i) job.calls({0, 1}, root, OperationKind::all_reduce);
  job.call(0, root, OperationKind::all_reduce, {.state = started});
  // Rank 1's ring has lost the first seven.
  auto& calls = job.dump(1).calls;
  calls.erase(calls.begin(), calls.begin() + 7);
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 11U);
  EXPECT_THAT(open.of_rank[0], ElementsAre(10));
  EXPECT_THAT(open.common_of_rank[1], ElementsAre(2));
  EXPECT_TRUE(open.is_left_out[0][6]);
  EXPECT_FALSE(open.is_left_out[0][7]);
}

TEST(OpenCalls, ALostRingIsNoAbsence) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto pair = job.group("pair", {0, 1});
  job.call(0, pair, OperationKind::all_reduce);
  for (int i = 0; i < 4; ++i) job.calls({0, 1}, root, OperationKind::all_reduce);
  auto& calls = job.dump(1).calls;  // which had the call on `pair` long ago
  for (DumpedCall& call : calls) call.record += 100;
  EXPECT_TRUE(find_open_calls(job.take()).empty());
}

TEST(OpenCalls, AMissingDumpIsNoAbsenceFromWhatOthersCompleted) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.calls({0, 1, 2}, root, OperationKind::barrier, {.state = started});
  job.lose(2);
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 2U);
  EXPECT_FALSE(open.groups[0].has_common);
}

TEST(OpenCalls, WhatOneMemberCompletedAllMade) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.calls({0, 1}, root, OperationKind::all_reduce);  // rank 2's dump was made before
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(open.early, ElementsAre(2));
}

TEST(OpenCalls, ASourceThatCompletedItsBroadcastProvesNothing) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::broadcast);
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 1U);
  EXPECT_THAT(open.early, IsEmpty());
}

TEST(OpenCalls, MessagesArePairedByLink) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.call(0, root, OperationKind::send, {.peer = 1});
  job.call(0, root, OperationKind::send, {.state = started, .peer = 2});
  job.call(1, root, OperationKind::recv, {.peer = 0});
  job.call(2, root, OperationKind::recv, {.state = started, .peer = 1});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_THAT(open.of_rank[0], ElementsAre(1));
  EXPECT_THAT(open.of_rank[1], IsEmpty());
  EXPECT_THAT(open.of_rank[2], ElementsAre(0));
}

TEST(OpenCalls, MessagesArePairedWithinTheirGroup) {
  Job job(2);
  job.group("default_pg", {0, 1});
  const auto left = job.group("left", {0, 1});
  const auto right = job.group("right", {0, 1});
  job.call(0, left, OperationKind::send, {.peer = 1, .is_gloo = true});
  job.call(1, left, OperationKind::recv, {.peer = 0, .is_gloo = true});
  job.call(0, left, OperationKind::send, {.peer = 1, .is_gloo = true});
  job.call(1, right, OperationKind::recv, {.peer = 0, .is_gloo = true});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_THAT(open.of_rank[0], ElementsAre(1));
  EXPECT_THAT(open.of_rank[1], ElementsAre(1));
}

TEST(OpenCalls, NumbersThatAllLeaveOutAreNoGap) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const std::uint64_t number : {3U, 5U, 4'000'000'000U})
    job.calls({0, 1}, root, OperationKind::all_reduce, {.sequence = number});
  EXPECT_TRUE(find_open_calls(job.take()).empty());
}

// Changes what the last call of a rank was made with.
void change_last(Job& job, int rank, const std::function<void(Collective&)>& change) {
  DumpedCall& last = job.dump(rank).calls.back();
  Collective call = job.table()[last.call];
  change(call);
  last.call = job.table().index_of(call, "");
}

TEST(OpenCalls, CompletedCallsThatDifferInAnyArgumentAreOpen) {
  const std::vector<std::function<void(Collective&)>> changes = {
      [](Collective& call) { call.reduce_operation = ReduceOperation::max; },
      [](Collective& call) { call.data_type = DataType::f64; },
      [](Collective& call) { call.label = "other"; }, [](Collective& call) { call.peer = 1; }};
  for (const auto& change : changes) {
    Job job(2);
    const auto root = job.group("default_pg", {0, 1});
    job.calls({0, 1}, root, OperationKind::reduce, {.peer = 0});
    change_last(job, 1, change);
    const OpenCalls open = find_open_calls(job.take());
    EXPECT_EQ(open.groups[0].first, 1U);
    EXPECT_TRUE(open.groups[0].differs);
  }
}

TEST(OpenCalls, OtherOperationsAreNotOtherArguments) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::all_reduce, {.state = started});
  job.call(1, root, OperationKind::barrier, {.state = started});
  EXPECT_FALSE(find_open_calls(job.take()).groups[0].differs);
}

TEST(OpenCalls, MessagesOfDifferentSizesAreOpen) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::send, {.count = 4, .peer = 1});
  job.call(1, root, OperationKind::recv, {.count = 5, .peer = 0});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_THAT(open.of_rank[0], ElementsAre(0));
  EXPECT_THAT(open.of_rank[1], ElementsAre(0));
}

TEST(OpenCalls, AMessageIsOpenUntilBothSidesHaveIt) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::send, {.peer = 1});
  job.call(1, root, OperationKind::recv, {.state = started, .peer = 0});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_THAT(open.of_rank[0], ElementsAre(0));
  EXPECT_THAT(open.of_rank[1], ElementsAre(0));
}

TEST(OpenCalls, MessagesArePairedByTag) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto call = [&](int rank, OperationKind kind, int tag) {
    job.call(rank, root, kind, {.count = 4 + tag, .peer = 1 - rank});
    change_last(job, rank, [tag](Collective& made) { made.tag = tag; });
  };
  for (const int tag : {1, 2}) call(0, OperationKind::send, tag);
  for (const int tag : {2, 1}) call(1, OperationKind::recv, tag);
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_TRUE(open.empty());
  for (const int rank : {0, 1})
    EXPECT_THAT(open.is_left_out[static_cast<std::size_t>(rank)], ElementsAre(false, false));
}

// Rank 1's ring has the third message only; with the first one, it has nothing to do.
TEST(OpenCalls, MessagesOfARingThatHasLostCallsAreNotPaired) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const std::int64_t count : {4, 4, 5})
    job.call(0, root, OperationKind::send, {.count = count, .peer = 1});
  job.begin_at(2);
  job.call(1, root, OperationKind::recv, {.count = 5, .peer = 0});
  EXPECT_TRUE(find_open_calls(job.take()).empty());
}

TEST(OpenCalls, AGlooMessageThatNobodyMeetsIsOpen) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::send, {.state = scheduled, .peer = 1, .is_gloo = true});
  job.calls({0, 1}, root, OperationKind::barrier, {.state = scheduled, .is_gloo = true});
  EXPECT_THAT(find_open_calls(job.take()).of_rank[0], testing::Contains(0));
}

// What a Gloo call has come to is not known; that its rank has gone on is.
TEST(OpenCalls, AGlooMessageToARankWithoutADumpHasEndedIfItsRankHasGoneOn) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::send, {.state = scheduled, .peer = 1, .is_gloo = true});
  job.call(0, root, OperationKind::send, {.state = scheduled, .peer = 1, .is_gloo = true});
  job.lose(1);
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_THAT(open.of_rank[0], ElementsAre(1));
  EXPECT_TRUE(open.is_left_out[0][0]);
}

TEST(OpenCalls, AGlooCallHasEndedIfThoseWithDumpsHaveGoneOn) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce, {.state = scheduled, .is_gloo = true});
  job.calls({0, 1, 2}, root, OperationKind::barrier, {.state = scheduled, .is_gloo = true});
  job.lose(2);
  EXPECT_EQ(find_open_calls(job.take()).groups[0].first, 2U);
}

// Rank 1 has lost its calls on `pair`; the status of the group tells how many there were.
TEST(OpenCalls, TheStatusOfAGroupTellsWhatARingHasLost) {
  for (const std::int64_t last : {0, 1}) {
    Job job(2);
    const auto root = job.group("default_pg", {0, 1});
    const auto pair = job.group("pair", {0, 1});
    job.call(0, pair, OperationKind::all_reduce, {.state = started});
    job.calls({0, 1}, root, OperationKind::barrier);
    for (DumpedCall& call : job.dump(1).calls) call.record += 100;
    job.dump(1).groups[pair].last_enqueued = last;
    const OpenCalls open = find_open_calls(job.take());
    EXPECT_EQ(open.groups[1].first.has_value(), last == 0) << last;
    EXPECT_EQ(open.is_left_out[0][0], last == 1) << last;
  }
}

TEST(OpenCalls, ARankHasOpenOnlyWhatFollowsWithoutAGap) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 0}, root, OperationKind::barrier, {.state = started});
  job.call(1, root, OperationKind::barrier, {.state = started, .sequence = 2});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_THAT(open.of_rank[0], ElementsAre(0, 1));
  EXPECT_THAT(open.of_rank[1], IsEmpty());
}

TEST(OpenCalls, WhatADumpDoesNotTellCameWithTheLastOfTheOthers) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  const auto own = job.group("own", {0});
  job.call(0, own, OperationKind::barrier);
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.lose(2);
  const OpenCalls open = find_open_calls(job.take());
  ASSERT_EQ(open.untold_of_rank[2].size(), 1U);
  EXPECT_EQ(open.untold_of_rank[2][0].time, 1001);
  EXPECT_EQ(open.untold_of_rank[2][0].place, 1U);
}

TEST(OpenCalls, ARingThatHasLostItsCallsOfAGroupIsNotOlder) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto pair = job.group("pair", {0, 1});
  job.call(0, pair, OperationKind::all_reduce);
  job.calls({0, 1}, root, OperationKind::all_reduce);
  for (DumpedCall& call : job.dump(1).calls) call.record += 100;
  EXPECT_THAT(find_open_calls(job.take()).early, IsEmpty());
}

TEST(OpenCalls, NothingIsCommonWithAnOlderDump) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::all_reduce);
  job.calls({0, 1}, root, OperationKind::all_reduce);
  job.calls({0, 1}, root, OperationKind::all_reduce, {.state = started});
  const OpenCalls open = find_open_calls(job.take());
  EXPECT_EQ(open.groups[0].first, 3U);
  EXPECT_FALSE(open.groups[0].has_common);
  EXPECT_THAT(open.common_of_rank[2], IsEmpty());
}

}  // namespace
}  // namespace gang::harness
