#include "train.h"

#include <vector>

#include <gangsim/gang.h>
#include <gangsim/gtest.h>
#include <gangsim/harness/run/judgement.h>
#include <gangsim/harness/runner.h>  // These four have moved; their old paths still work.
#include <gangsim/sim.h>
#include <gangsim/sim/schedule.h>
#include <gtest/gtest.h>

#include "harness/rank.h"
#include "sim/report.h"

namespace {

GANG_TEST(Train, RunsOnEveryRankWithoutAFinding, 8) { train(rank); }

GANG_TEST(Train, SumsOverPairsAndAveragesOverTheRest, 4) {
  gang::Gangs gangs = gang::create_parallel_gangs(rank.root(), {.tp_size = 2});
  std::vector<float> gradient(4, static_cast<float>(rank.rank() + 1));
  gangs.tp->all_reduce(gang::view(gradient), gang::ReduceOperation::sum);
  gangs.dp->all_reduce(gang::view(gradient), gang::ReduceOperation::mean);
  EXPECT_EQ(gradient, std::vector<float>(4, 5.0F));  // (1 + 2 + 3 + 4) / 2
  gangs.close();
}

TEST(Train, IsSeenToDeadlockWhereOneRankStaysAway) {
  const gang::sim::Report report =
      gang::sim::Simulation({.world_size = 4}).run([](gang::sim::SimulatedRank& rank) {
        if (rank.rank() != 1) {
          rank.root()->barrier();
        }
      });
  EXPECT_EQ(report.outcome, gang::sim::Outcome::deadlock);
}

TEST(Train, HoldsUnderEverySchedule) {
  const gang::harness::Judgement judgement =
      gang::harness::judge({"train", "one data-parallel step", train}, {.world_size = 4});
  EXPECT_EQ(judgement.claim, gang::harness::Claim::proved) << to_string(judgement);
}

}  // namespace
