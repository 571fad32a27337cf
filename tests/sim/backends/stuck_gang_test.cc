#include "sim/backends/stuck_gang.h"

#include "sim/run.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(StuckGang, ComparesTheCallsOfMembersAsTheVerdictDoes) {
  const SimulationOptions options{.world_size = 6};
  const RankProgram program = [](SimulatedRank&) {};
  sim::Run world_run(options, program);
  GangInfo info;
  info.name = "odd";
  info.size = 3;
  info.root_ranks = {1, 3, 5};
  StuckGang gang(world_run.world(), info);
  std::vector<PendingOperation*> calls;
  for (int member = 0; member < 3; ++member)
    calls.push_back(gang.add(member, {.kind = OperationKind::broadcast,
                                      .peer = member == 1 ? 2 : 0,
                                      .count = 4,
                                      .call_site = CallSite::at("train.cc", 7 + member)}));
  const Finding finding = gang.mismatch_of(calls);
  EXPECT_EQ(finding.id, finding_id::mismatch_root);
  EXPECT_THAT(finding.ranks, ElementsAre(3));
  EXPECT_EQ(to_string(finding.location), "train.cc:8");
  EXPECT_EQ(to_string(finding.gang), "odd[1,3,5]");
  EXPECT_EQ(world_run.world().matching.gangs().size(), 1U) << "the run knows its root gang only";
}

}  // namespace
}  // namespace gang::sim
