// Deadlocks of some ranks while others continue.
#include <stdexcept>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

SimulationOptions searching(int world_size) {
  return {.world_size = world_size, .deadlock_search = DeadlockSearch::while_others_run};
}

// Ranks 0 and 1 receive from each other first.
void receive_from_each_other(SimulatedRank& rank) {
  std::int32_t value = 0;
  rank.root()->recv(view_of(value), 1 - rank.rank(), 0, {}, CallSite::at("cycle.cc", 3));
}

TEST(PartialDeadlock, IsFoundWhileOthersRunOn) {
  std::uint64_t rounds = 0;
  const auto program = [&rounds](SimulatedRank& rank) {
    const auto rest = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
    if (rank.rank() < 2) return receive_from_each_other(rank);
    for (int i = 0; i < 100'000; ++i) {
      rest->barrier();
      if (rank.rank() == 2) ++rounds;
    }
  };
  const Report report = run(searching(4), program);
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(report.findings[0].consequences,
              ElementsAre("ranks 2-3 were still running when this was found"));
  EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 1));
  EXPECT_LT(rounds, 5000U);
  rounds = 0;
  EXPECT_THAT(ids_of(run(4, program)), ElementsAre("point_to_point_cycle"));
  EXPECT_EQ(rounds, 100'000U);
}

TEST(PartialDeadlock, IsFoundWhileOthersSleepForEver) {
  const Report report = run(searching(3), [](SimulatedRank& rank) {
    if (rank.rank() < 2) return receive_from_each_other(rank);
    for (;;) rank.runtime().sleep_for(1s);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 1));
}

TEST(PartialDeadlock, ATimeoutThatIsDueDoesNotHideIt) {
  const auto program = [](SimulatedRank& rank) {
    if (rank.rank() < 2) return receive_from_each_other(rank);
    rank.runtime().sleep_for(3600s);
  };
  EXPECT_THAT(ids_of(run(3, program)), ElementsAre("timed_out"));
  const Report report = run(searching(3), program);
  EXPECT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_EQ(report.virtual_time, 0s);
}

TEST(PartialDeadlock, IsFoundWhereARankPollsForEverForWhatCannotComplete) {
  const Report report = run(searching(3), [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    Work work = rank.root()->start_barrier({}, CallSite::at("poll.cc", 4));
    while (!work.test()) rank.runtime().sleep_for(1ms);
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "poll.cc:4");
  EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 2));
}

TEST(PartialDeadlock, PollersThatCanSucceedAreNotBlamed) {
  const Report report = run(searching(2), [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(60s);
    Work work = rank.root()->start_barrier();
    while (!work.test()) rank.runtime().sleep_for(1ms);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(PartialDeadlock, RanksThatWaitForOneThatComputesAreNotDead) {
  const Report report = run(searching(4), [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    if (rank.rank() > 1)
      for (int i = 0; i < 20'000; ++i) pair->barrier();
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(PartialDeadlock, AMismatchIsToldBeforeWhatItLeadsTo) {
  const Report report = run(searching(4), [](SimulatedRank& rank) {
    const auto three = child_of(*rank.root(), {0, 1, 2});
    if (rank.rank() == 3)
      for (int i = 0; i < 5000; ++i) rank.runtime().sleep_for(1ms);
    std::int32_t value = 0;
    if (rank.rank() == 0) three->barrier();
    if (rank.rank() == 1) three->broadcast(view_of(value));
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, "mismatch_operation");
}

TEST(PartialDeadlock, IsNoneWhereTimeoutsEndIt) {
  SimulationOptions options = searching(3);
  options.pending_timeouts = PendingTimeouts::fire;
  const Report report = run(options, [](SimulatedRank& rank) {
    if (rank.rank() == 2)
      for (int i = 0; i < 5000; ++i) rank.runtime().sleep_for(1s);
    else
      EXPECT_TRUE(gang_error_of([&rank] { receive_from_each_other(rank); }));
  });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(PartialDeadlock, IsGivenOnDemand) {
  const Report report = run(4, [](SimulatedRank& rank) {
    if (rank.rank() < 2) return receive_from_each_other(rank);
    if (rank.rank() == 3) return;
    EXPECT_EQ(rank.examine().outcome, Outcome::deadlock);
    rank.runtime().sleep_for(1s);
    const Report found = rank.examine();
    EXPECT_EQ(found.outcome, Outcome::deadlock);
    EXPECT_THAT(ids_of(found), ElementsAre("point_to_point_cycle"));
    EXPECT_THAT(blocked_ranks(found), ElementsAre(0, 1));
    EXPECT_EQ(found.virtual_time, 1s);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_THAT(report.findings[0].consequences, IsEmpty());
}

TEST(PartialDeadlock, OnDemandThereMayBeNone) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 2) {
      const Report found = rank.examine();
      EXPECT_EQ(found.outcome, Outcome::completed);
      EXPECT_THAT(found.blocked, IsEmpty());
    }
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds());
}

TEST(PartialDeadlock, TheVerdictIsTheSameOnFibersAndThreads) {
  std::vector<std::string> texts;
  for (const ContextKind context : deterministic_contexts()) {
    SimulationOptions options = searching(3);
    options.context = context;
    texts.push_back(to_string(run(options, [](SimulatedRank& rank) {
      if (rank.rank() < 2) return receive_from_each_other(rank);
      for (;;) rank.runtime().sleep_for(1s);
    })));
  }
  EXPECT_EQ(texts.front(), texts.back());
}

}  // namespace
}  // namespace gang::sim
