#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Report run_firing(int world_size, const RankProgram& program, Duration timeout = 10ms) {
  return run(
      {.world_size = world_size, .timeout = timeout, .pending_timeouts = PendingTimeouts::fire},
      program);
}

TEST(OperationDeadlines, FireAtTheirExactVirtualTime) {
  const Report report = run_firing(3, [](SimulatedRank& rank) {
    rank.runtime().sleep_for(5ms);
    if (rank.rank() == 2) return;
    const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
    EXPECT_EQ(error->elapsed(), 10ms);
    EXPECT_EQ(rank.runtime().now(), 15ms);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(2));
  });
  EXPECT_EQ(report.outcome, Outcome::completed);
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_EQ(report.virtual_time, 15ms);
}

TEST(OperationDeadlines, AreDeadlocksUnlessAskedToFire) {
  const Report report = run({.world_size = 2, .timeout = 10ms}, [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.virtual_time, Duration(0));
  ASSERT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(report.blocked[0].would_time_out_after_ns, 10'000'000U);
}

TEST(OperationDeadlines, ASleeperThatComesTooLateMakesATimeoutAnyway) {
  const Report report = run({.world_size = 2, .timeout = 10ms}, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(11ms);
    const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
    EXPECT_EQ(rank.runtime().now(), rank.rank() == 0 ? 10ms : 11ms);
    EXPECT_EQ(error->elapsed(), rank.rank() == 0 ? 10ms : 0ms);  // found broken at once
  });
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, ASleeperThatComesInTimeIsNoTimeout) {
  for (const auto pending : {PendingTimeouts::are_deadlocks, PendingTimeouts::fire}) {
    const SimulationOptions options{.world_size = 2, .timeout = 10ms, .pending_timeouts = pending};
    const Report report = run(options, [](SimulatedRank& rank) {
      for (int i = 0; i < 5; ++i) {
        if (rank.rank() == i % 2) rank.runtime().sleep_for(10ms);  // to the nanosecond
        rank.root()->barrier();
      }
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
    EXPECT_EQ(report.virtual_time, 50ms);
  }
}

TEST(OperationDeadlines, RunFromTheCallAndNotFromTheWait) {
  const Report report = run_firing(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(30ms);
      return;
    }
    Work work = rank.root()->start_barrier();
    rank.runtime().sleep_for(8ms);
    const auto error = gang_error_of([&work] { work.wait(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(rank.runtime().now(), 10ms);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, ACallMayHaveItsOwn) {
  const Report report = run_firing(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    const auto error = gang_error_of([&rank] { rank.root()->barrier({.timeout = 3ms}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(rank.runtime().now(), 3ms);
  });
  EXPECT_THAT(report.findings[0].message, HasSubstr("timed out after 3 ms"));
}

TEST(OperationDeadlines, ThereIsNoneWithoutTimeout) {
  const Report report = run_firing(
      2,
      [](SimulatedRank& rank) {
        if (rank.rank() == 0) rank.root()->barrier();
      },
      no_timeout);
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.blocked[0].would_time_out_after_ns, 0U);
}

TEST(OperationDeadlines, MessagesHaveThemToo) {
  const Report report = run_firing(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1) return;
    const auto error = gang_error_of([&] { rank.root()->recv(view_of(value), 1); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
    EXPECT_EQ(rank.runtime().now(), 10ms);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, SoHaveOperationsThatWaitBehindOthersOfTheirStream) {
  const SimulationOptions options{.world_size = 3,
                                  .execution = ExecutionModel::stream_ordered,
                                  .pending_timeouts = PendingTimeouts::fire};
  const Report report = run(options, [](SimulatedRank& rank) {
    const auto slow = child_of(*rank.root(), {0, 1}, {.timeout = 50ms});
    const auto quick = child_of(*rank.root(), {0, 2}, {.timeout = 20ms});
    if (rank.rank() != 0) return;
    Work first = slow->start_barrier();
    Work second = quick->start_barrier();
    EXPECT_TRUE(gang_error_of([&second] { second.wait(); }));
    EXPECT_EQ(rank.runtime().now(), 20ms);
    EXPECT_TRUE(gang_error_of([&first] { first.wait(); }));
    EXPECT_EQ(rank.runtime().now(), 50ms);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out", "timed_out"));
}

TEST(OperationDeadlines, OneTimeoutIsOneFindingForAllThatWaited) {
  const Report report = run_firing(8, [](SimulatedRank& rank) {
    if (rank.rank() != 5) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out"));
  EXPECT_THAT(report.findings[0].consequences,
              ElementsAre("ranks 0-4,6-7 failed in barrier #0 on root[0-7] (timeout)"));
}

}  // namespace
}  // namespace gang::sim
