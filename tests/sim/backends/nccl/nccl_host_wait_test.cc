#include "sim/backends/nccl/nccl_host_wait.h"

#include "tests/sim/backends/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(NcclHostWait, AwaitsTheRanksAwaitedByItsKernels) {
  const Report report =
      run({.world_size = 3, .backend = SimulatedBackend::nccl}, [](SimulatedRank& rank) {
        if (rank.rank() != 2) rank.root()->barrier();
      });
  ASSERT_EQ(blocked_ranks(report), (std::vector{0, 1})) << to_string(report);
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(2));
  EXPECT_EQ(to_string(report.blocked[0].call), "barrier #0");
  EXPECT_EQ(to_string(report.blocked[0].gang), "root[0-2]");
}

TEST(NcclHostWait, AwaitsRanksMissingFromAMeeting) {
  const Report report =
      run({.world_size = 2, .backend = SimulatedBackend::nccl}, [](SimulatedRank& rank) {
        if (rank.rank() == 0) rank.root()->split({.color = 0});
      });
  ASSERT_EQ(blocked_ranks(report), std::vector{0}) << to_string(report);
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1));
  EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
}

}  // namespace
}  // namespace gang::sim
