#include "sim/backends/root_gangs.h"

#include <set>

#include "gang/root_gang.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(RootGangs, DefaultToTheSimulatorsOwn) {
  const Report report = run(2, [](SimulatedRank& rank) {
    EXPECT_EQ(rank.root()->info().backend, "sim");
    EXPECT_EQ(rank.root()->size(), 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// The backends that the gangs of all ranks name, which then count their members.
std::set<std::string> backends_of_roots(SimulatedBackend backend) {
  std::set<std::string> names;
  const Report report = run({.world_size = 3, .backend = backend}, [&names](SimulatedRank& rank) {
    names.insert(rank.root()->info().backend);
    EXPECT_EQ(rank.root()->rank(), rank.rank());
    EXPECT_EQ(count_members(*rank.root()), 3);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  return names;
}

TEST(RootGangs, OverGlooAreGlooGangs) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  EXPECT_THAT(backends_of_roots(SimulatedBackend::gloo), ElementsAre("gloo"));
}

TEST(RootGangs, OverGlooAreNotSupportedWithoutGloo) {
  if (gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is not built: remove libgloo-dev";
  EXPECT_THROW(backends_of_roots(SimulatedBackend::gloo), NotSupported);
}

TEST(RootGangs, OverSimulatedDevicesAreNcclGangs) {
  EXPECT_THAT(backends_of_roots(SimulatedBackend::nccl), ElementsAre("nccl"));
}

}  // namespace
}  // namespace gang::sim
