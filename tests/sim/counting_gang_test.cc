#include "sim/counting_gang.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(CountingGang, CountsTheCallsOfAGangAndOfItsChildren) {
  const Report report =
      run({.world_size = 2, .backend = SimulatedBackend::nccl}, [](SimulatedRank& rank) {
        rank.root()->barrier();
        rank.root()->split({.color = rank.rank()})->barrier();
      });
  EXPECT_EQ(report.counts.rank_operations, 6U);
  EXPECT_EQ(report.counts.gangs, 3U);
}

}  // namespace
}  // namespace gang::sim
