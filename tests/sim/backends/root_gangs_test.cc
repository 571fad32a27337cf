#include "sim/backends/root_gangs.h"

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

TEST(RootGangs, OverGlooAreGlooGangsOrNotSupported) {
  const auto look = [] {
    return run({.world_size = 2, .backend = SimulatedBackend::gloo},
               [](SimulatedRank& rank) { EXPECT_EQ(rank.root()->info().backend, "gloo"); });
  };
  try {
    EXPECT_TRUE(look().holds());
  } catch (const NotSupported& error) {
    EXPECT_THAT(error.what(), HasSubstr("libgloo-dev"));
  }
}

}  // namespace
}  // namespace gang::sim
