#include "harness/recording/recorded_steps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gang/operation_kind.h"
#include "tests/harness/recording/recording_testing.h"

namespace gang::harness {
namespace {

constexpr OperationKind all_reduce = OperationKind::all_reduce;

// "all_reduce", "1 = barrier", "wait 1" of each rank.
std::vector<std::vector<std::string>> texts_of(const Recording& recording) {
  std::vector<std::vector<std::string>> texts;
  for (const auto& steps : steps_of(recording, find_open_calls(recording))) {
    std::vector<std::string>& own = texts.emplace_back();
    for (const RecordedStep& step : steps) {
      const std::string call(to_string(recording.calls[step.call].kind));
      if (step.action == RecordedStep::Action::wait)
        own.push_back(fmt::format("wait {}", step.work));
      else if (step.action == RecordedStep::Action::start)
        own.push_back(fmt::format("{} = {}", step.work, call));
      else
        own.push_back(step.batch.empty() ? call : fmt::format("batch of {}", step.batch.size()));
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(RecordedSteps, WhatHasEndedBlocksAndWhatIsOpenIsWaitedForAtTheEnd) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, all_reduce);
  job.call(0, root, all_reduce, {.state = started});
  job.call(0, root, OperationKind::barrier, {.state = scheduled});
  const auto texts = texts_of(job.take());
  EXPECT_EQ(texts[0], (Texts{"all_reduce", "1 = all_reduce", "2 = barrier", "wait 1", "wait 2"}));
  EXPECT_EQ(texts[1], Texts{"all_reduce"});
}

TEST(RecordedSteps, MessagesThatFollowEachOtherAreWaitedForTogether) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const int rank : {0, 1}) {
    job.call(rank, root, OperationKind::send, {.peer = 1 - rank, .sequence = 1});
    job.call(rank, root, OperationKind::recv, {.peer = 1 - rank, .sequence = 2});
    job.call(rank, root, all_reduce, {.sequence = 1});
  }
  EXPECT_EQ(texts_of(job.take())[0],
            (Texts{"1 = send", "2 = recv", "wait 1", "wait 2", "all_reduce"}));
}

TEST(RecordedSteps, MessagesMadeAsOneAreABatch) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const int rank : {0, 1})
    for (const OperationKind kind : {OperationKind::send, OperationKind::recv})
      job.call(rank, root, kind, {.peer = 1 - rank, .sequence = 5});
  Recording recording = job.take();
  const auto steps = steps_of(recording, find_open_calls(recording));
  ASSERT_EQ(steps[0].size(), 2U);
  EXPECT_EQ(steps[0][0].batch.size(), 2U);
}

TEST(RecordedSteps, AWaitStandsWhereTheDumpSaysSo) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  for (int i = 0; i < 4; ++i) job.call(0, root, all_reduce, {.is_blocking = false});
  std::vector<DumpedCall>& calls = job.dump(0).calls;
  for (DumpedCall& call : calls) call.has_waits = true;
  calls[0].waited = 3;
  calls[1].waited = 2;
  calls[2].waited = 4;  // and nobody waits for the last one
  EXPECT_EQ(texts_of(job.take())[0],
            (Texts{"1 = all_reduce", "2 = all_reduce", "wait 2", "2 = all_reduce", "wait 1",
                   "0 = all_reduce", "wait 2"}));
}

TEST(RecordedSteps, ARankWithoutADumpMadeWhatOthersCompleted) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, all_reduce);
  job.calls({0, 1, 2}, root, OperationKind::barrier);
  job.calls({0, 1}, root, all_reduce, {.state = started});
  job.lose(2);
  EXPECT_EQ(texts_of(job.take())[2], (Texts{"all_reduce", "barrier"}));
}

TEST(RecordedSteps, RanksBeginWhereAllRingsDo) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0}, root, all_reduce);
  job.calls({0}, root, all_reduce);
  job.begin_at(1);
  job.call(1, root, all_reduce, {.sequence = 2});
  job.calls({0}, root, all_reduce, {.state = started});
  const auto texts = texts_of(job.take());
  EXPECT_EQ(texts[0], (Texts{"all_reduce", "1 = all_reduce", "wait 1"}));
  EXPECT_EQ(texts[1], Texts{"all_reduce"});
}

TEST(RecordedSteps, CallsAreInStreamsUnlessOneHasOvertaken) {
  const auto is_ordered = [](DumpedState first, DumpedState second, bool is_gloo) {
    Job job(2);
    const auto a = job.group("a", {0, 1});
    const auto b = job.group("b", {0, 1});
    job.calls({0, 1}, a, all_reduce, {.state = first, .is_gloo = is_gloo});
    job.calls({0, 1}, b, all_reduce, {.state = second, .is_gloo = is_gloo});
    const Recording recording = job.take();
    return is_stream_ordered(recording, find_open_calls(recording));
  };
  constexpr DumpedState completed = DumpedState::completed;
  EXPECT_TRUE(is_ordered(completed, completed, false));
  EXPECT_TRUE(is_ordered(completed, started, false));
  EXPECT_FALSE(is_ordered(started, completed, false));
  EXPECT_FALSE(is_ordered(completed, completed, true));
}

TEST(RecordedSteps, MessagesAtTheEndAreWaitedForToo) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (const int rank : {0, 1}) {
    job.call(rank, root, OperationKind::send, {.peer = 1 - rank, .sequence = 1});
    job.call(rank, root, OperationKind::recv, {.peer = 1 - rank, .sequence = 2});
  }
  EXPECT_EQ(texts_of(job.take())[0], (Texts{"1 = send", "2 = recv", "wait 1", "wait 2"}));
}

TEST(RecordedSteps, WhatIsOpenIsWaitedForBeforeWhatHasEnded) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  const auto own = job.group("own", {0});
  job.call(0, root, all_reduce, {.state = started});
  job.call(0, own, OperationKind::barrier);
  job.call(0, root, all_reduce, {.state = scheduled});
  EXPECT_EQ(texts_of(job.take())[0], (Texts{"1 = all_reduce", "2 = barrier", "3 = all_reduce",
                                            "wait 1", "wait 3", "wait 2"}));
}

TEST(RecordedSteps, AProgramHasItsGangsFromTheBeginningOn) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, OperationKind::create_gang);
  job.calls({0, 1, 2}, root, OperationKind::barrier);
  job.lose(2);
  const auto texts = texts_of(job.take());
  EXPECT_EQ(texts[0], Texts{"barrier"});
  EXPECT_EQ(texts[2], Texts{"barrier"});
}

TEST(RecordedSteps, AGangThatIsStillBeingMadeIsWaitedFor) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::create_gang, {.state = started});
  EXPECT_EQ(texts_of(job.take())[0], (Texts{"1 = create_gang", "wait 1"}));
}

// The dump of rank 2 lacks a call that the others completed with it.
TEST(RecordedSteps, WhatADumpDoesNotTellStandsWhereItsTimeIs) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  const auto own = job.group("own", {2});
  job.calls({0, 1}, root, all_reduce);
  job.call(2, own, OperationKind::barrier);
  job.dump(2).calls[0].created_ns = 5000;
  EXPECT_EQ(texts_of(job.take())[2], (Texts{"all_reduce", "barrier"}));
}

TEST(RecordedSteps, MessagesAreNotOpenOverACallThatADumpDoesNotTell) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  for (const int rank : {0, 2})
    job.call(rank, root, rank == 0 ? OperationKind::send : OperationKind::recv,
             {.peer = 2 - rank, .sequence = 1});
  job.calls({0, 1}, root, all_reduce, {.sequence = 1});
  EXPECT_EQ(texts_of(job.take())[2], (Texts{"1 = recv", "wait 1", "all_reduce"}));
}

// Rank 2 has no dump: what was sent to it may be left out, and what remains is not a batch.
TEST(RecordedSteps, WhatIsLeftOfABatchMayBeASingleMessage) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  for (const int peer : {2, 1})
    job.call(0, root, OperationKind::send, {.peer = peer, .sequence = 5});
  job.call(1, root, OperationKind::recv, {.peer = 0});
  job.lose(2);
  const Recording recording = job.take();
  const auto steps = steps_of(recording, find_open_calls(recording));
  ASSERT_EQ(steps[0].size(), 2U);
  EXPECT_TRUE(steps[0][0].batch.empty());
  EXPECT_EQ(recording.calls[steps[0][0].call].peer, 1);
}

TEST(RecordedSteps, WaitsAreCountedFromTheFirstCallOfTheProgram) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  job.begin_at(100);
  for (int i = 0; i < 3; ++i) job.call(0, root, all_reduce, {.is_blocking = false});
  std::vector<DumpedCall>& calls = job.dump(0).calls;
  for (DumpedCall& call : calls) call.has_waits = true;
  calls[0].waited = 102;
  calls[1].waited = 103;
  calls[2].waited = 103;
  EXPECT_EQ(texts_of(job.take())[0], (Texts{"1 = all_reduce", "2 = all_reduce", "wait 1",
                                            "1 = all_reduce", "wait 2", "wait 1"}));
}

TEST(RecordedSteps, WithoutCallsNothingIsInStreams) {
  Job job(2);
  job.group("default_pg", {0, 1});
  const Recording recording = job.take();
  EXPECT_FALSE(is_stream_ordered(recording, find_open_calls(recording)));
}

TEST(RecordedSteps, WhatNoDumpOfARankTellsIsOrderedByTime) {
  Job job(3);
  const auto a = job.group("a", {0, 2});
  const auto own = job.group("own", {0});
  const auto b = job.group("b", {1, 2});
  job.call(0, own, OperationKind::barrier);
  job.call(0, a, all_reduce);
  job.call(1, b, OperationKind::barrier);
  job.dump(1).calls[0].created_ns = 9000;
  job.lose(2);
  EXPECT_EQ(texts_of(job.take())[2], (Texts{"all_reduce", "barrier"}));
}

TEST(RecordedSteps, WhatNoDumpOfARankTellsIsOrderedByPlaceWhereTimesAreEqual) {
  Job job(2);
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  job.call(0, b, OperationKind::barrier);
  job.call(0, a, all_reduce);
  for (DumpedCall& call : job.dump(0).calls) call.created_ns = 0;
  job.lose(1);
  EXPECT_EQ(texts_of(job.take())[1], (Texts{"barrier", "all_reduce"}));
}

TEST(RecordedSteps, AWorkHasOneNameUntilItIsWaitedFor) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  for (int i = 0; i < 4; ++i) job.call(0, root, all_reduce, {.is_blocking = false});
  std::vector<DumpedCall>& calls = job.dump(0).calls;
  for (DumpedCall& call : calls) call.has_waits = true;
  calls[0].waited = 1;
  calls[1].waited = calls[2].waited = calls[3].waited = 4;
  EXPECT_EQ(texts_of(job.take())[0],
            (Texts{"1 = all_reduce", "wait 1", "1 = all_reduce", "2 = all_reduce", "3 = all_reduce",
                   "wait 1", "wait 2", "wait 3"}));
}

}  // namespace
}  // namespace gang::harness
