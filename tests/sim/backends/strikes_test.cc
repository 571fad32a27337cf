#include "sim/backends/strikes.h"

#include <set>

#include "gang/root_gang.h"
#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The progress of the other ranks in 12 gathers to rank 0, during which the last rank died.
int gathers_of(SimulatedBackend backend, std::uint64_t seed) {
  SimulationOptions options = with(2, {{.kind = FaultKind::crash,
                                        .ranks = {1},
                                        .trigger = {.operation = 3, .moment = FaultMoment::inside},
                                        .notice = Between<Duration>(Duration(0))}});
  options.backend = backend;
  options.seed = seed;
  int done = 0;
  run(options, [&done](SimulatedRank& rank) {
    std::vector<float> all(2 * 64);
    std::vector<float> own(64, 1.0F);
    gang_error_of([&] {
      for (int i = 0; i < 12; ++i) {
        rank.root()->all_gather(view(all), view(own));
        if (rank.rank() == 0) ++done;
      }
    });
  });
  return done;
}

void expect_two_ends(SimulatedBackend backend) {
  std::set<int> counts;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    counts.insert(gathers_of(backend, seed));
    EXPECT_EQ(gathers_of(backend, seed), gathers_of(backend, seed));
  }
  EXPECT_EQ(counts, (std::set{3, 4}));  // it died in the fourth, before or after contributing
}

TEST(Strikes, HitOneOfTheMessagesOfAnAlgorithm) {
  if (!gloo_availability().is_available) GTEST_SKIP() << gloo_availability().reason;
  expect_two_ends(SimulatedBackend::gloo);
}

TEST(Strikes, HitBeforeALaunchOrDuringItsWait) { expect_two_ends(SimulatedBackend::nccl); }

}  // namespace
}  // namespace gang::sim
