#include "sim/matching/shrinking.h"

#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

float sum_of_ranks(Gang& gang, float value) {
  gang.all_reduce(view_of(value), ReduceOperation::sum);
  return value;
}

TEST(Shrinking, SurvivorsOfAFailureGoOnInTheirOldOrder) {
  const Report report = run(5, [](SimulatedRank& rank) {
    const auto reversed = child_of(*rank.root(), {4, 3, 2, 1, 0});
    if (rank.rank() == 3) throw std::runtime_error("gone");
    const auto error = gang_error_of([&reversed] { reversed->barrier(); });
    ASSERT_TRUE(error);
    const auto survivors = reversed->shrink();
    EXPECT_EQ(survivors->size(), 4);
    EXPECT_THAT(survivors->info().root_ranks, ElementsAre(4, 2, 1, 0));
    EXPECT_EQ(survivors->info().root_ranks[static_cast<std::size_t>(survivors->rank())],
              rank.rank());
    EXPECT_EQ(sum_of_ranks(*survivors, static_cast<float>(rank.rank())), 7);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(report.virtual_time, Duration(0)) << "no rank waits for ranks known to be gone";
}

TEST(Shrinking, AHealthyGangMayBeShrunkAndIsBrokenThen) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const auto all = rank.root()->shrink({.name = "all", .timeout = 5s});
    EXPECT_EQ(all->size(), 3);
    EXPECT_EQ(all->name(), "all");
    EXPECT_EQ(all->timeout(), 5s);
    EXPECT_EQ(sum_of_ranks(*all, 1), 3);
    const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
    EXPECT_THAT(error->what(), HasSubstr("the gang was shrunk to ranks 0-2"));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, TheGraceBoundsTheWaitForMembersThatStayAway) {
  const Report report = run(4, [](SimulatedRank& rank) {
    if (rank.rank() == 2) return rank.runtime().sleep_for(10s);
    const auto there = rank.root()->shrink({.grace = 2s});
    EXPECT_EQ(rank.runtime().now(), 2s);
    EXPECT_EQ(there->size(), 3);
    there->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, ALateMemberIsExcludedAndLearnsOfIt) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(10s);
      const auto error = gang_error_of([&rank] { rank.root()->shrink(); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
      EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
      EXPECT_THAT(error->what(), HasSubstr("rank 1 failed in shrink on root[0-2] (peer_failed): "
                                           "excluded from the shrunk gang"));
      return;
    }
    EXPECT_EQ(rank.root()->shrink({.grace = 1s})->size(), 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, AMemberAtTheDeadlineIsInTime) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(1s);
    EXPECT_EQ(rank.root()->shrink({.grace = 1s})->size(), 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, ARankThatEndsWhileOthersWaitIsNotWaitedForAnyLonger) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 0) return rank.runtime().sleep_for(1s);
    EXPECT_EQ(rank.root()->shrink()->size(), 2);
    EXPECT_EQ(rank.runtime().now(), 1s);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// It had come, and was counted.
TEST(Shrinking, ARankThatDiesWhileItWaitsIsNoMemberOfTheNewGang) {
  SimulationOptions options = with(
      4, {{.kind = FaultKind::crash, .ranks = {1}, .trigger = {.time = Between<Duration>(1s)}}});
  const Report report = Simulation(options).run([](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.runtime().sleep_for(2s);
    const auto survivors = rank.root()->shrink();
    EXPECT_NE(rank.rank(), 1);
    EXPECT_THAT(survivors->info().root_ranks, ElementsAre(0, 2, 3));
    EXPECT_EQ(sum_of_ranks(*survivors, 1), 3);
  });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
  EXPECT_EQ(report.virtual_time, 2s);
}

TEST(Shrinking, TheLastMemberContinuesAlone) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() != 1) return;
    const auto alone = rank.root()->shrink();
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(sum_of_ranks(*alone, 4), 4);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, AShrunkGangMayBeShrunkAgainButNoneTwice) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto first = rank.root()->shrink();
    EXPECT_THROW(rank.root()->shrink(), InvalidOperation);
    if (rank.rank() == 3) return;
    EXPECT_EQ(first->shrink()->size(), 3);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, TheShrunkGangOutlivesTheOldOne) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto shrunk = rank.root()->shrink();
    rank.root()->close();
    EXPECT_EQ(sum_of_ranks(*shrunk, 1), 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, OneWithoutAnEndIsRefused) {
  const Report report = run(1, [](SimulatedRank& rank) {
    const auto endless = rank.root()->create_gang(std::vector{0}, {.timeout = no_timeout});
    EXPECT_THROW(endless->shrink(), InvalidArgument);
    EXPECT_THROW(endless->shrink({.grace = Duration(0)}), InvalidArgument);
    EXPECT_EQ(endless->shrink({.grace = 1s})->timeout(), no_timeout);
    rank.root()->close();
    EXPECT_THROW(rank.root()->shrink(), InvalidOperation);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Shrinking, SchedulesDoNotMatter) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationOptions options;
    options.world_size = 4;
    options.seed = seed;
    options.scheduler = SchedulerKind::random;
    const Report report = Simulation(options).run([](SimulatedRank& rank) {
      if (rank.rank() == 2) throw std::runtime_error("gone");
      EXPECT_TRUE(gang_error_of([&rank] { rank.root()->barrier(); }));
      EXPECT_EQ(sum_of_ranks(*rank.root()->shrink(), 1), 3);
    });
    EXPECT_THAT(ids_of(report), ElementsAre("rank_failed")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gang::sim
