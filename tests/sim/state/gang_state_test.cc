#include "sim/state/gang_state.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(GangState, MembersAreNamedAsRootRanks) {
  run(1, [](SimulatedRank& rank) {
    GangState gang(rank.world());
    gang.world = nullptr;  // nothing in the run knows it
    GangInfo info;
    info.name = "dp";
    info.size = 3;
    info.root_ranks = {6, 2, 4};
    gang.info = std::make_shared<const GangInfo>(std::move(info));
    EXPECT_EQ(members_text(gang, {0}), "rank 6");
    EXPECT_EQ(members_text(gang, {0, 1, 2}), "ranks 2-6:2");
    MatchSlot slot(3);
    EXPECT_THAT(missing_members(slot), ElementsAre(0, 1, 2));
  });
}

}  // namespace
}  // namespace gang::sim
