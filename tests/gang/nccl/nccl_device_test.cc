#include "gang/nccl/nccl_device.h"

#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

using test::RecordedGang;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// The error of an all_reduce on `gang`.
std::optional<GangError> error_of(Gang& gang) {
  try {
    float value = 0;
    gang.all_reduce(view_of(value), ReduceOperation::sum);
  } catch (const GangError& error) {
    return error;
  }
  return std::nullopt;
}

TEST(NcclDevice, ATimeoutRevokesEveryCommunicatorAtOnceAndFreesThemLater) {
  RecordedGang recorded;
  recorded.nccl->others[1] = R"([0,0])";
  const auto child = recorded.gang->split({.color = 0});
  recorded.nccl->holds_events = true;
  recorded.nccl->wakes = {NcclWake::Reason::deadline};
  recorded.nccl->log.clear();
  float value = 0;
  try {
    child->all_reduce(view_of(value), ReduceOperation::sum,
                      {.timeout = std::chrono::nanoseconds(1)});
    ADD_FAILURE() << "it has timed out";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::timeout);
  }
  EXPECT_THAT(recorded.nccl->log,
              ElementsAre("all_reduce 1 f32 sum", "note root/0.0", "note root", "revoke 2"));
  const auto error = error_of(*recorded.gang);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), GangErrorKind::aborted);
  EXPECT_THAT(error->what(), HasSubstr("after a timeout in root.0"));
}

// Its tensors are gone, but the operation still completes.
TEST(NcclDevice, ARankThrownOutOfAWaitIsNotWrittenTo) {
  test::RecordedFlight recorded;
  NcclFlight& flight = *recorded.flight;
  recorded.device->track(recorded.flight, true);
  recorded.nccl->holds_events = true;
  recorded.nccl->throws_out = true;
  EXPECT_THROW(recorded.device->await(flight), test::RecordingNccl::ThrownOut);
  recorded.device->await(flight);
  EXPECT_TRUE(flight.test());
  EXPECT_EQ(recorded.result[2], std::byte{0});
}

TEST(NcclDevice, ANoteOfAMemberBreaksItsGang) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  recorded.nccl->wakes = {NcclWake::Reason::look};
  recorded.nccl->note = to_note({GangErrorKind::peer_failed, {1}, "rank 1 gave up"});
  recorded.nccl->change_count = 1;
  const auto error = error_of(*recorded.gang);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
  EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
}

TEST(NcclDevice, AnAsynchronousErrorBreaksItsGang) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  float value = 0;
  Work work = recorded.gang->start_all_reduce(view_of(value), ReduceOperation::sum);
  recorded.nccl->status = NcclStatus::remote_error;
  recorded.nccl->wakes = {NcclWake::Reason::look};
  try {
    work.wait();
    ADD_FAILURE() << "a peer is gone";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::peer_failed);
    EXPECT_THAT(error.what(), HasSubstr("remote error"));
  }
}

TEST(NcclDevice, AThreadEndsOperationsThatAreOnlyTested) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  float value = 0;
  Work work = recorded.gang->start_all_reduce(view_of(value), ReduceOperation::sum);
  for (int i = 0; i < 10'000 && !work.test(); ++i)
    recorded.runtime->sleep_for(std::chrono::microseconds(100));
  EXPECT_TRUE(work.test());
}

TEST(NcclDevice, WhatWasCompleteBeforeItsGangBrokeHasSucceeded) {
  RecordedGang recorded;
  float value = 0;
  Work complete = recorded.gang->start_all_reduce(view_of(value), ReduceOperation::sum);
  recorded.nccl->holds_events = true;
  Work pending = recorded.gang->start_all_reduce(view_of(value), ReduceOperation::sum);
  recorded.gang->abort();
  complete.wait();
  EXPECT_THROW(pending.wait(), GangError);
}

TEST(NcclDevice, OnlyWhatIsLateHasTimedOut) {
  RecordedGang recorded;
  recorded.nccl->others[1] = R"([0,0])";
  const auto child = recorded.gang->split({.color = 0});
  recorded.nccl->holds_events = true;
  float values[2] = {};
  Work patient = recorded.gang->start_all_reduce(view_of(values[0]), ReduceOperation::sum);
  recorded.nccl->wakes = {NcclWake::Reason::deadline};
  try {
    child->all_reduce(view_of(values[1]), ReduceOperation::sum, {.timeout = Duration(1)});
    ADD_FAILURE() << "it has timed out";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::timeout);
    EXPECT_GT(error.elapsed(), Duration(0));
  }
  try {
    patient.wait();
    ADD_FAILURE() << "its device has failed";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::aborted);
  }
}

TEST(NcclDevice, CommunicatorsAreFreedWhenNothingIsInFlight) {
  RecordedGang recorded;
  recorded.nccl->others[1] = R"([0,0])";
  const auto child = recorded.gang->split({.color = 0});
  recorded.nccl->holds_events = true;
  float value = 0;
  Work work = recorded.gang->start_all_reduce(view_of(value), ReduceOperation::sum);
  child->close();
  EXPECT_THAT(recorded.nccl->log, testing::Not(Contains("destroy")));
  work.wait();
  EXPECT_THAT(recorded.nccl->log, Contains("destroy"));
}

TEST(NcclDevice, WhatIsCompleteIsCopiedBack) {
  test::RecordedFlight recorded;
  recorded.device->track(recorded.flight, true);
  recorded.device->await(*recorded.flight);
  EXPECT_EQ(recorded.result[2], std::byte{7});
}

TEST(NcclDevice, AWaitLastsUntilTheFirstDeadlineOfWhatIsInFlight) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  const auto start = [&recorded](Duration timeout) {
    return recorded.gang->start_barrier({.timeout = timeout});
  };
  Work works[] = {start(std::chrono::hours(2)), start(std::chrono::hours(1)),
                  start(std::chrono::hours(3))};
  works[2].wait();
  ASSERT_FALSE(recorded.nccl->deadlines.empty());
  EXPECT_LE(recorded.nccl->deadlines.front(), recorded.runtime->now() + std::chrono::hours(1));
}

TEST(NcclDevice, WhatIsOnlyTestedTimesOutToo) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  recorded.nccl->wakes = {NcclWake::Reason::deadline};
  Work work = recorded.gang->start_barrier({.timeout = Duration(1)});
  const auto poll = [&] {
    while (!work.test()) recorded.runtime->sleep_for(std::chrono::microseconds(100));
  };
  EXPECT_THROW(poll(), GangError);
}

}  // namespace
}  // namespace gang
