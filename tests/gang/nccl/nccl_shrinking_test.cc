#include "gang/nccl/nccl_shrinking.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/gang_cause.h"
#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

using test::RecordedGang;
using testing::Contains;

TEST(NcclShrinking, TheCommunicatorIsShrunkByTheLostRanks) {
  RecordedGang recorded(3);
  recorded.nccl->others = {"0", "0", std::nullopt};  // how often they have split it
  const auto rest = recorded.gang->shrink({.name = "rest"});
  EXPECT_EQ(rest->size(), 2);
  EXPECT_EQ(rest->name(), "rest");
  EXPECT_THAT(recorded.nccl->log, Contains("shrink"));
  EXPECT_THROW(recorded.gang->barrier(), GangError);
  rest->barrier();
  EXPECT_THROW(recorded.gang->shrink(), InvalidOperation);
}

TEST(NcclShrinking, WithoutLossItIsSplit) {
  RecordedGang recorded(3);
  recorded.nccl->others = {"0", "0", "0"};
  EXPECT_EQ(recorded.gang->shrink()->size(), 3);
  EXPECT_THAT(recorded.nccl->log, Contains("split 0 0"));
}

TEST(NcclShrinking, IfSplitsAreUnequalTheNewGangStartsFromScratch) {
  RecordedGang recorded(3);
  recorded.nccl->others = {"0", "1", "0"};
  EXPECT_EQ(recorded.gang->shrink()->size(), 3);
  EXPECT_THAT(recorded.nccl->log, Contains("init 0/3"));
}

TEST(NcclShrinking, TheSplitsOfAllMembersAreCompared) {
  RecordedGang recorded(2);
  recorded.nccl->others[1] = "[0,0]";
  const auto child = recorded.gang->split({.color = 0});
  recorded.nccl->others[1] = "1";
  recorded.gang->shrink();
  EXPECT_THAT(recorded.nccl->log, Contains("split 0 0").Times(2)) << "each has split once";
}

TEST(NcclShrinking, TheOldGangNamesThoseThatAreGoneAndTheNewOneIsAnnounced) {
  RecordedGang recorded(3);
  recorded.nccl->others = {"0", "0", std::nullopt};
  recorded.gang->shrink();
  EXPECT_THAT(recorded.nccl->log, Contains("note root#shrink"));
  try {
    recorded.gang->barrier();
    ADD_FAILURE() << "it has been shrunk";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::peer_failed);
    EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{2});
  }
}

// Whom shrinking a gang of three does not wait for, if rank 2 broke it in this way.
std::vector<int> not_waited_for_after(GangErrorKind kind) {
  RecordedGang recorded(3);
  recorded.nccl->holds_events = true;
  recorded.nccl->wakes = {NcclWake::Reason::look};
  recorded.nccl->change_count = 1;
  recorded.nccl->note = to_note({kind, {2}, "planted"});
  try {
    recorded.gang->barrier();
    ADD_FAILURE() << "it is broken";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{2});
  }
  recorded.nccl->note.clear();
  recorded.nccl->others = {"0", "0", std::nullopt};
  recorded.gang->shrink();
  return recorded.nccl->gone;
}

TEST(NcclShrinking, WhoHasFailedIsNotWaitedForWhoWasLateIs) {
  EXPECT_EQ(not_waited_for_after(GangErrorKind::peer_failed), std::vector<int>{2});
  EXPECT_EQ(not_waited_for_after(GangErrorKind::timeout), std::vector<int>());
}

}  // namespace
}  // namespace gang
