#include "gang/nccl/nccl_groups.h"

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

}  // namespace
}  // namespace gang
