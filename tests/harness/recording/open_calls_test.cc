#include "harness/recording/open_calls.h"

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

TEST(OpenCalls, NumbersThatAllLeaveOutAreNoGap) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const std::uint64_t number : {3U, 5U, 4'000'000'000U})
    job.calls({0, 1}, root, OperationKind::all_reduce, {.sequence = number});
  EXPECT_TRUE(find_open_calls(job.take()).empty());
}

}  // namespace
}  // namespace gang::harness
