#include "sim/matching/mismatches.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Mismatches, TwoPairsThatDifferOnOneGangAreFoundInEverySchedule) {
  for (const auto scheduler : {SchedulerKind::round_robin, SchedulerKind::random})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Report report =
          run({.world_size = 4, .seed = seed, .scheduler = scheduler}, [](SimulatedRank& rank) {
            float small = 0;
            double large = 0;
            const int peer = rank.rank() ^ 1;
            if (rank.rank() % 2 == 0)
              rank.root()->send(view_of(small), peer);
            else
              rank.root()->recv(view_of(large), peer);
          });
      ASSERT_THAT(ids_of(report), ElementsAre("mismatch_data_type", "mismatch_data_type"));
      for (const Finding& finding : report.findings)
        EXPECT_EQ(finding.certainty, Certainty{.schedules = Schedules::every});
    }
}

TEST(Mismatches, OnTwoGangsAreBothFoundWhateverTheyLeadTo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Report report = run({.world_size = 4, .seed = seed, .scheduler = SchedulerKind::random},
                              [](SimulatedRank& rank) {
                                const auto pair = rank.root()->split({.color = rank.rank() / 2});
                                std::vector<float> values(rank.rank() % 2 == 0 ? 4 : 8);
                                pair->all_reduce(view(values), ReduceOperation::sum);
                                rank.root()->barrier();
                              });
    EXPECT_THAT(ids_of(report), ElementsAre("mismatch_count", "mismatch_count"));
  }
}

TEST(Mismatches, WhatBreaksTheGangBeforeEndsThem) {
  const Report report = run(3, [](SimulatedRank& rank) {
    float small = 0;
    double large = 0;
    EXPECT_TRUE(gang_error_of([&] {
      if (rank.rank() == 0) rank.root()->send(view_of(small), 1);
      if (rank.rank() == 1) rank.root()->recv(view_of(large), 0);
      if (rank.rank() == 2) {
        rank.root()->abort();
        rank.root()->barrier();
      }
    }));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Mismatches, FailBeforeTimePasses) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto clock =
        rank.runtime().start_thread("sleeping", [&rank] { rank.runtime().sleep_for(1s); });
    std::vector<float> values(rank.rank() == 0 ? 4 : 8);
    EXPECT_TRUE(
        gang_error_of([&] { rank.root()->all_reduce(view(values), ReduceOperation::sum); }));
    EXPECT_EQ(rank.runtime().now(), TimePoint(0));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_count"));
}

}  // namespace
}  // namespace gang::sim
