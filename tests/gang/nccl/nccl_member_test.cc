#include "gang/nccl/nccl_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

using test::RecordedGang;
using testing::Contains;
using testing::ElementsAre;

TEST(NcclMember, AnAbortIsNotedAndEndsTheCommunicator) {
  RecordedGang recorded;
  recorded.gang->abort();
  EXPECT_THAT(recorded.nccl->log, ElementsAre("note root", "revoke 1"));
  EXPECT_THROW(recorded.gang->barrier(), GangError);
}

TEST(NcclMember, ItsCommunicatorIsFreedWhenItGoes) {
  RecordedGang recorded;
  recorded.gang->close();
  EXPECT_THAT(recorded.nccl->log, ElementsAre("destroy"));
  recorded.gang.reset();
  EXPECT_THAT(recorded.nccl->log, ElementsAre("destroy"));
}

TEST(NcclMember, AMemberThatAnExceptionLeavesTellsTheOthers) {
  RecordedGang recorded;
  try {
    const auto gang = std::exchange(recorded.gang, nullptr);
    throw std::runtime_error("planted");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(recorded.nccl->log, Contains("note root"));
}

TEST(NcclMember, ALaunchThatFailsBreaksTheGangUnlessTheCallIsWrong) {
  RecordedGang recorded;
  recorded.nccl->launch_error = NcclStatus::invalid_argument;
  EXPECT_THROW(recorded.gang->barrier(), InvalidArgument);
  recorded.nccl->launch_error = NcclStatus::internal_error;
  EXPECT_THROW(recorded.gang->barrier(), GangError);
  recorded.nccl->launch_error.reset();
  EXPECT_THROW(recorded.gang->barrier(), GangError);
}

TEST(NcclMember, ItsStreamHasThePriorityOfItsGang) {
  const auto nccl = std::make_shared<test::RecordingNccl>();
  NcclGangOptions options;
  options.world = {nccl, nccl, make_real_runtime()};
  options.priority = StreamPriority::high;
  make_nccl_gang(options);
  EXPECT_THAT(nccl->log, Contains("high priority"));
}

GangErrorKind kind_of_barrier(Gang& gang) {
  try {
    gang.barrier();
  } catch (const GangError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "it has not failed";
  return {};
}

TEST(NcclMember, TheFirstCauseStays) {
  RecordedGang recorded;
  recorded.nccl->launch_error = NcclStatus::remote_error;
  EXPECT_EQ(kind_of_barrier(*recorded.gang), GangErrorKind::peer_failed);
  recorded.gang->abort();
  recorded.nccl->launch_error.reset();
  EXPECT_EQ(kind_of_barrier(*recorded.gang), GangErrorKind::peer_failed);
}

TEST(NcclMember, ACommunicatorThatDoesNotBecomeReadyIsATimeout) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  recorded.nccl->status = NcclStatus::in_progress;
  EXPECT_EQ(kind_of_barrier(*recorded.gang), GangErrorKind::timeout);
}

TEST(NcclMember, ClosingEndsWhatIsUnderWayAndTellsTheOthers) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  Work work = recorded.gang->start_barrier();
  recorded.gang->close();
  EXPECT_THAT(recorded.nccl->log, Contains("note root"));
  EXPECT_THROW(work.wait(), GangError);
}

TEST(NcclMember, NothingIsLaunchedOnABrokenGang) {
  RecordedGang recorded;
  recorded.gang->abort();
  recorded.nccl->log.clear();
  EXPECT_EQ(kind_of_barrier(*recorded.gang), GangErrorKind::aborted);
  EXPECT_THAT(recorded.nccl->log, testing::IsEmpty());
}

}  // namespace
}  // namespace gang
