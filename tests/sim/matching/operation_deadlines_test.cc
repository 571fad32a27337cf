#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The errors that the program has handled.
std::vector<std::string> handled_ids(const Report& report) {
  EXPECT_THAT(report.findings, IsEmpty());
  std::vector<std::string> ids;
  for (const Finding& finding : report.handled) ids.push_back(finding.id);
  return ids;
}

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
  EXPECT_THAT(handled_ids(report), ElementsAre("timed_out"));
  EXPECT_THAT(report.handled.at(0).ranks, ElementsAre(2));
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
  EXPECT_THAT(handled_ids(report), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, ASleeperThatArrivesInTimeDoesNotTimeOut) {
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
  EXPECT_THAT(handled_ids(report), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, ACallMayHaveItsOwn) {
  const Report report = run_firing(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    const auto error = gang_error_of([&rank] { rank.root()->barrier({.timeout = 3ms}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(rank.runtime().now(), 3ms);
  });
  EXPECT_THAT(full_message(report.handled.at(0)), HasSubstr("timed out after 3 ms"));
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
  EXPECT_THAT(handled_ids(report), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, SoHaveOperationsThatWaitBehindOthersOfTheirStream) {
  const SimulationOptions options{.world_size = 3,
                                  .execution = ExecutionModel::stream_ordered,
                                  .pending_timeouts = PendingTimeouts::fire,
                                  .step_limit = 10'000};
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
  EXPECT_THAT(handled_ids(report), ElementsAre("timed_out", "timed_out"));
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

// What three ranks met on the root gang and on those of each two of them.
struct Watched {
  Report report;
  std::vector<std::optional<GangError>> root{3};
  std::vector<std::optional<GangError>> pair{3};  // of ranks 0 and 1
  std::vector<std::optional<GangError>> rest{3};  // of ranks 1 and 2
};

// Rank 0 starts a barrier of all, which the others come to only later, and does not
// wait for it, and meets rank 1 again and again.
Watched run_watched(std::optional<Duration> watchdog, const CallOptions& of_barrier = {}) {
  Watched watched;
  SimulationOptions options{.world_size = 3};
  options.watchdog = watchdog;
  watched.report = run(options, [&watched, &of_barrier](SimulatedRank& rank) {
    const auto self = static_cast<std::size_t>(rank.rank());
    const auto pair = child_of(*rank.root(), {0, 1});
    const auto rest = child_of(*rank.root(), {1, 2});
    Work unawaited;
    if (self == 0) unawaited = rank.root()->start_barrier(of_barrier);
    if (pair)
      watched.pair[self] = gang_error_of([&] {
        for (int i = 0; i < 15; ++i) {
          rank.runtime().sleep_for(700ms);
          pair->barrier();
        }
      });
    if (self == 2) rank.runtime().sleep_for(4s);
    if (rest) watched.rest[self] = gang_error_of([&rest] { rest->barrier(); });
    watched.root[self] = gang_error_of([&] {
      if (self == 0)
        unawaited.wait();
      else
        rank.root()->barrier();
    });
  });
  return watched;
}

TEST(OperationDeadlines, AWatchdogAbortsTheGangsOfItsRankEvenIfNoContextWaits) {
  const Watched watched = run_watched(3s);
  EXPECT_THAT(handled_ids(watched.report), ElementsAre("timed_out"));
  EXPECT_THAT(full_message(watched.report.handled.at(0)), HasSubstr("timed out after 3 s"));
  for (const std::size_t rank : {0U, 1U}) {
    ASSERT_TRUE(watched.pair[rank]) << rank;
    EXPECT_EQ(watched.pair[rank]->kind(), GangErrorKind::aborted);
    EXPECT_THAT(watched.pair[rank]->what(),
                HasSubstr("the watchdog of rank 0 aborted it, since root[0-2] broke: ranks 1-2 did "
                          "not come"));
  }
  for (const auto& error : watched.root) {
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
  }
  for (const auto& error : watched.rest) EXPECT_FALSE(error) << "none of rank 0's";
}

TEST(OperationDeadlines, WithoutAWatchdogTheSameRunGoesWell) {
  const Watched watched = run_watched(std::nullopt);
  EXPECT_TRUE(watched.report.holds()) << to_string(watched.report);
  for (const auto& error : watched.pair) EXPECT_FALSE(error);
}

TEST(OperationDeadlines, AWatchdogActsOnTimeoutsThatComeSooner) {
  const Watched watched = run_watched(60s, {.timeout = 2s});
  ASSERT_TRUE(watched.pair[1]);
  EXPECT_EQ(watched.pair[1]->kind(), GangErrorKind::aborted);
  EXPECT_THAT(full_message(watched.report.handled.at(0)), HasSubstr("timed out after 2 s"));
  EXPECT_FALSE(run_watched(std::nullopt, {.timeout = 2s}).pair[1]) << "gangs break one by one";
}

TEST(OperationDeadlines, AWatchdogDoesNotHideADeadlock) {
  SimulationOptions options{.world_size = 2, .watchdog = 3s};
  const RankProgram program = [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  };
  const Report report = run(options, program);
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.blocked.at(0).would_time_out_after_ns, 3'000'000'000U);
  options.pending_timeouts = PendingTimeouts::fire;
  EXPECT_THAT(ids_of(run(options, program)), ElementsAre("timed_out"));
}

TEST(OperationDeadlines, AMonitoredBarrierHasItsOwnTimeout) {
  const Report report = run({.world_size = 2, .watchdog = 1s}, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(5s);
    rank.root()->monitored_barrier(10s);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
