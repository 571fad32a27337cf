#include "sim/state/gang_handles.h"

#include "sim/state/gang_state.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(GangHandles, KeepTheirGangUntilTheLastIsDropped) {
  run(1, [](SimulatedRank& rank) {
    auto gang = std::make_shared<GangState>(rank.world());
    gang->leave_run();  // nothing in the run knows it
    GangHandles& handles = gang->handles;
    const std::weak_ptr<GangState> known = gang;
    EXPECT_EQ(handles.gang(), nullptr);
    handles.add(gang);
    handles.add(gang);
    handles.add();
    EXPECT_EQ(handles.gang(), gang);
    gang.reset();
    handles.drop();
    handles.drop_in_run();
    EXPECT_FALSE(known.expired());
    handles.drop();
    EXPECT_TRUE(known.expired());
  });
}

TEST(GangHandles, TheLastMayBeDroppedDuringTheRun) {
  run(1, [](SimulatedRank& rank) {
    auto gang = std::make_shared<GangState>(rank.world());
    gang->leave_run();
    GangHandles& handles = gang->handles;
    const std::weak_ptr<GangState> known = gang;
    handles.add(std::move(gang));
    handles.drop_in_run();
    EXPECT_TRUE(known.expired());
  });
}

TEST(GangHandles, MayBeAddedAgain) {
  run(1, [](SimulatedRank& rank) {
    const auto gang = std::make_shared<GangState>(rank.world());
    gang->leave_run();
    gang->handles.add(gang);
    gang->handles.drop();
    EXPECT_EQ(gang->handles.gang(), nullptr);
    gang->handles.add(gang);
    EXPECT_EQ(gang->handles.gang(), gang);
    gang->handles.drop();
  });
}

}  // namespace
}  // namespace gang::sim
