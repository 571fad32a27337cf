#include "sim/backends/gloo/gloo_roots.h"

#include <cmath>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

class GlooRootsOfSize : public testing::TestWithParam<int> {};

TEST_P(GlooRootsOfSize, OperationsMatchTheirDefinition) {
  const int size = GetParam();
  const Report report =
      run({.world_size = size, .backend = SimulatedBackend::gloo}, [size](SimulatedRank& rank) {
        Gang& root = *rank.root();
        std::vector<std::int64_t> values(1000, rank.rank());
        root.all_reduce(view(values), ReduceOperation::sum);
        EXPECT_EQ(values.front(), size * (size - 1) / 2);
        EXPECT_EQ(values.back(), values.front());
        std::vector<std::int64_t> all(static_cast<std::size_t>(size));
        std::int64_t own = 10 + rank.rank();
        root.all_gather(view(all), view_of(own));
        EXPECT_EQ(all.back(), 10 + size - 1);
        const auto half = root.split({.color = rank.rank() % 2});
        Work work = half->start_all_reduce(view_of(own), ReduceOperation::max);
        work.wait();
        EXPECT_EQ(own, 10 + (size - 1 - (size - 1 - rank.rank()) % 2));
        root.barrier();
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

INSTANTIATE_TEST_SUITE_P(Sizes, GlooRootsOfSize, testing::Values(1, 2, 3, 4, 8, 33));

// Sums values across eight decades: a different order of additions gives different bits.
TEST(GlooRoots, SumsFollowTheOrderOfGloosRing) {
  std::vector<float> gloo;
  for (const ContextKind context : deterministic_contexts()) {
    std::vector<float> result(97);
    run({.world_size = 4, .context = context, .backend = SimulatedBackend::gloo},
        [&result](SimulatedRank& rank) {
          RandomStream random = rank.random_stream("values");
          std::vector<float> values(97);
          for (float& value : values)
            value = std::pow(10.0F, static_cast<float>(random.below(8))) *
                    static_cast<float>(random.below(1000)) / 999.0F;
          rank.root()->all_reduce(view(values), ReduceOperation::sum);
          if (rank.rank() == 0) result = values;
        });
    if (gloo.empty()) gloo = result;
    EXPECT_EQ(gloo, result) << "fibers and threads differ";
  }
}

TEST(GlooRoots, LostRankFailsItsPeersImmediately) {
  const Report report =
      run({.world_size = 4, .backend = SimulatedBackend::gloo}, [](SimulatedRank& rank) {
        float value = 1.0F;
        if (rank.rank() == 2) return;
        try {
          rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
          ADD_FAILURE() << "rank 2 does not participate";
        } catch (const GangError& error) {
          EXPECT_EQ(error.kind(), GangErrorKind::peer_failed);
          EXPECT_EQ(rank.runtime().now(), TimePoint{0});
        }
      });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(GlooRoots, SurvivorsShrinkTheGangAndContinue) {
  for (const ContextKind context : deterministic_contexts()) {
    const Report report =
        run({.world_size = 5, .context = context, .backend = SimulatedBackend::gloo},
            [](SimulatedRank& rank) {
              if (rank.rank() == 3) return;
              EXPECT_THROW(rank.root()->barrier(), GangError);
              const auto shrunk = rank.root()->shrink({.grace = std::chrono::seconds(2)});
              EXPECT_EQ(rank.runtime().now(), std::chrono::seconds(2));
              std::int64_t sum = rank.rank();
              shrunk->all_reduce(view_of(sum), ReduceOperation::sum);
              EXPECT_EQ(sum, 7);
            });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(GlooRoots, CallsAreCountedOnEveryGang) {
  const Report report =
      run({.world_size = 2, .backend = SimulatedBackend::gloo}, [](SimulatedRank& rank) {
        rank.root()->barrier();
        rank.root()->split({.color = 0})->barrier();
      });
  EXPECT_EQ(report.counts.rank_operations, 6U);
}

TEST(GlooRoots, TimeoutsAreInVirtualTime) {
  const Report report = run({.world_size = 3,
                             .backend = SimulatedBackend::gloo,
                             .timeout = 10s,
                             .pending_timeouts = PendingTimeouts::fire},
                            [](SimulatedRank& rank) {
                              float value = 1.0F;
                              if (rank.rank() == 2)
                                return rank.runtime().sleep_for(std::chrono::hours(1));
                              try {
                                rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
                                ADD_FAILURE() << "rank 2 sleeps";
                              } catch (const GangError& error) {
                                EXPECT_EQ(error.kind(), GangErrorKind::timeout);
                                EXPECT_EQ(rank.runtime().now(), 10s);
                              }
                            });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(GlooRoots, DeadlockReportShowsTheProgramsCalls) {
  const Report report =
      run({.world_size = 2, .backend = SimulatedBackend::gloo}, [](SimulatedRank& rank) {
        float value = 1.0F;
        rank.root()->recv(view_of(value), 1 - rank.rank());
      });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_EQ(report.blocked.size(), 2U);
  EXPECT_THAT(to_string(report.blocked[0].call), HasSubstr("recv f32[] from rank 1"));
  EXPECT_THAT(to_string(report.blocked[0].gang), HasSubstr("root[0,1]"));
  EXPECT_THAT(to_string(report.blocked[0].location), HasSubstr("gloo_roots_test.cc:"));
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1));
}

}  // namespace
}  // namespace gang::sim
