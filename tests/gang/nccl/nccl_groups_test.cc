#include "gang/nccl/nccl_groups.h"

#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

using test::RecordedGang;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(NcclGroups, AChildIsASplitOfTheCommunicator) {
  RecordedGang recorded;
  recorded.nccl->others[1] = "gang 0,";
  const auto child = recorded.gang->create_gang(std::vector{0}, {.name = "half"});
  EXPECT_THAT(recorded.nccl->log, ElementsAre("meet root#0", "split 0 0"));
  EXPECT_EQ(child->size(), 1);
  EXPECT_EQ(child->name(), "half");
}

TEST(NcclGroups, RanksOutsideTheChildSplitToo) {
  RecordedGang recorded;
  recorded.nccl->others[1] = "gang 1,";
  EXPECT_EQ(recorded.gang->create_gang(std::vector{1}), nullptr);
  EXPECT_THAT(recorded.nccl->log, ElementsAre("meet root#0", "split -1 0"));
}

TEST(NcclGroups, DifferentListsAreAMismatch) {
  RecordedGang recorded(3);
  recorded.nccl->others = {"", "gang 0,1,", "gang 0,2,"};
  try {
    recorded.gang->create_gang(std::vector{0, 1});
    ADD_FAILURE() << "rank 2 asked for a different gang";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::mismatch);
    EXPECT_THAT(error.ranks_at_fault(), ElementsAre(2));
  }
}

TEST(NcclGroups, AnUnknownAnnouncementIsAMismatch) {
  RecordedGang recorded;
  recorded.nccl->others[1] = "[1,";
  EXPECT_THROW(recorded.gang->split({.color = 0}), GangError);
}

TEST(NcclGroups, AMonitoredBarrierNamesTheMissingRanks) {
  RecordedGang recorded(3);
  recorded.nccl->others.assign(3, std::nullopt);
  recorded.nccl->others[1] = "barrier";
  try {
    recorded.gang->monitored_barrier(std::chrono::seconds(1));
    ADD_FAILURE() << "rank 2 is missing";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::timeout);
    EXPECT_THAT(error.ranks_at_fault(), ElementsAre(2));
  }
}

TEST(NcclGroups, ACommunicatorThatCannotBeMadeFailsTheGang) {
  RecordedGang recorded;
  recorded.nccl->others[1] = "gang 0,";
  recorded.nccl->status = NcclStatus::system_error;
  EXPECT_THROW(recorded.gang->create_gang(std::vector{0}), GangError);
}

std::optional<GangError> error_of_barrier(Gang& gang, Gang::MissingRanks report) {
  try {
    gang.monitored_barrier(std::chrono::seconds(1), report);
  } catch (const GangError& error) {
    return error;
  }
  return std::nullopt;
}

TEST(NcclGroups, AMonitoredBarrierNamesAllMissingRanksOrTheFirst) {
  for (const auto report : {Gang::MissingRanks::all, Gang::MissingRanks::first}) {
    RecordedGang recorded(3);
    recorded.nccl->others.assign(3, std::nullopt);
    const auto error = error_of_barrier(*recorded.gang, report);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->ranks_at_fault(),
              report == Gang::MissingRanks::all ? (std::vector{1, 2}) : std::vector{1});
  }
}

TEST(NcclGroups, AMemberThatHasBrokenTheGangSaysWhyItIsMissing) {
  RecordedGang recorded;
  recorded.nccl->others.assign(2, std::nullopt);
  recorded.nccl->note = to_note({GangErrorKind::aborted, {1}, "rank 1 aborted the gang"});
  const auto error = error_of_barrier(*recorded.gang, Gang::MissingRanks::all);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), GangErrorKind::aborted);
  EXPECT_THAT(error->what(), HasSubstr("rank 1 aborted the gang"));
}

TEST(NcclGroups, TheCauseOfAMissingCommunicatorIsThatOfNccl) {
  for (const auto& [status, kind] : {std::pair(NcclStatus::in_progress, GangErrorKind::timeout),
                                     {NcclStatus::remote_error, GangErrorKind::peer_failed},
                                     {NcclStatus::system_error, GangErrorKind::connection}}) {
    RecordedGang recorded;
    recorded.nccl->others[1] = "gang 0,";
    recorded.nccl->status = status;
    try {
      recorded.gang->create_gang(std::vector{0});
      ADD_FAILURE() << "there is no communicator";
    } catch (const GangError& error) {
      EXPECT_EQ(error.kind(), kind);
    }
  }
}

TEST(NcclGroups, MembersHaveThePlacesOfTheirList) {
  RecordedGang recorded;
  recorded.nccl->others[1] = "gang 1,0,";
  const auto child = recorded.gang->create_gang(std::vector{1, 0});
  EXPECT_EQ(child->rank(), 1);
  EXPECT_THAT(recorded.nccl->log, ElementsAre("meet root#0", "split 0 1"));
}

TEST(NcclGroups, TheChildrenOfOneSplitMeetApart) {
  RecordedGang recorded;
  recorded.nccl->others[1] = "[3,0]";
  const auto child = recorded.gang->split({.color = 3});
  recorded.nccl->log.clear();
  recorded.nccl->others.assign(2, "barrier");
  child->monitored_barrier(std::chrono::seconds(1));
  EXPECT_THAT(recorded.nccl->log, ElementsAre("meet root/0.3#0"));
}

}  // namespace
}  // namespace gang
