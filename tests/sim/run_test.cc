#include "sim/run.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(OneRun, ComposesAWorldOfItsRanks) {
  const SimulationOptions options{.world_size = 3};
  const RankProgram program = [](SimulatedRank& rank) {
    EXPECT_EQ(rank.world().ranks.size(), 3U);
    EXPECT_EQ(rank.world().rank(rank.rank()).rank, rank.rank());
    EXPECT_EQ(rank.world().foreign_gangs, nullptr);
    EXPECT_EQ(rank.world().interference, nullptr);
    rank.root()->barrier();
  };
  gang::sim::Run run(options, program);
  const Report report = run.run();
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.counts.rank_operations, 3U);
  EXPECT_EQ(report.counts.completed_operations, 1U);
  EXPECT_EQ(report.counts.gangs, 1U);
}

TEST(OneRun, ARankThatFailsFailsTheRun) {
  const Report report = test::run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("no data");
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
}

TEST(OneRun, ExamineLeavesNothingInTheRunsOwnReport) {
  const Report report = test::run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 0) {
      rank.runtime().sleep_for(1s);
      EXPECT_EQ(rank.examine().outcome, Outcome::completed);
    }
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
