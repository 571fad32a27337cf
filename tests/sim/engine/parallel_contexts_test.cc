#include <atomic>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Report run_parallel(int world_size, const RankProgram& program) {
  return run({.world_size = world_size, .context = ContextKind::parallel}, program);
}

// What every rank computed, as the program of one run.
std::vector<std::int64_t> results_of(ContextKind context) {
  std::vector<std::int64_t> results(8);
  const Report report = run({.world_size = 8, .context = context}, [&results](SimulatedRank& rank) {
    Gang& root = *rank.root();
    const auto pair = root.split({.color = rank.rank() / 2});
    std::int64_t value = rank.rank() + 1;
    for (int i = 0; i < 50; ++i) {
      Work work = root.start_all_reduce(view_of(value), ReduceOperation::max);
      pair->barrier();
      work.wait();
      value = value * 3 + rank.rank();
      if (pair->rank() == 0)
        pair->send(view_of(value), 1);
      else
        pair->recv(view_of(value), 0);
      root.all_reduce(view_of(value), ReduceOperation::bitwise_xor);
    }
    results[static_cast<std::size_t>(rank.rank())] = value;
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  return results;
}

TEST(ParallelContexts, GiveTheSameResultsWhereTheScheduleDoesNotMatter) {
  const auto expected = results_of(SimulationOptions::default_context());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(results_of(ContextKind::parallel), expected);
}

TEST(ParallelContexts, RunAtTheSameTime) {
  std::atomic<int> arrived = 0;
  const Report report = run_parallel(4, [&arrived](SimulatedRank&) {
    ++arrived;
    while (arrived < 4) std::this_thread::yield();  // one at a time would never leave this
  });
  EXPECT_TRUE(report.holds());
}

TEST(ParallelContexts, CarryManyRanks) {
  const Report report = run_parallel(300, [](SimulatedRank& rank) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(count_members(*rank.root()), 300);
  });
  EXPECT_TRUE(report.holds());
}

TEST(ParallelContexts, FindADeadlockWithoutWaitingForATimeout) {
  for (int i = 0; i < 10; ++i) {
    const Report report = run_parallel(4, [](SimulatedRank& rank) {
      if (rank.rank() != 2) rank.root()->barrier();
    });
    EXPECT_EQ(report.outcome, Outcome::deadlock);
    ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
    EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
    EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 1, 3));
  }
}

TEST(ParallelContexts, FindAMismatch) {
  const Report report = run_parallel(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    EXPECT_TRUE(gang_error_of([&] { rank.root()->broadcast(view_of(value), rank.rank() == 1); }));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_root"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

TEST(ParallelContexts, AMismatchOfStartedOperationsDoesNotHideADeadlock) {
  const Report report = run_parallel(3, [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    std::int32_t value = 0;
    if (rank.rank() == 2) return;
    Work work = rank.root()->start_broadcast(view_of(value), rank.rank());
    const auto condition = rank.runtime().make_condition();
    std::unique_lock lock(*mutex);
    condition->wait(lock);
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.findings.at(0).id, "mismatch_root");
}

TEST(ParallelContexts, AFailureReachesTheOthers) {
  const Report report = run_parallel(4, [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("gone");
    rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

TEST(ParallelContexts, SleepDoesNotTakeTheTimeItSays) {
  const Report report = run_parallel(3, [](SimulatedRank& rank) {
    rank.runtime().sleep_for(3600s);
    rank.root()->barrier();
    EXPECT_GE(rank.runtime().now(), 3600s);
  });
  EXPECT_TRUE(report.holds());
  EXPECT_LT(report.wall_time, 60s);
}

TEST(ParallelContexts, PollLoopsEndWhenAPeersSleepDoes) {
  const Report report = run_parallel(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(10s);
    Work work = rank.root()->start_barrier();
    while (!work.test()) {
    }
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(ParallelContexts, PollLoopsThatNeverSucceedAreADeadlock) {
  const Report report = run_parallel(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    Work work = rank.root()->start_barrier();
    while (!work.test()) {
    }
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
}

TEST(ParallelContexts, FurtherContextsSynchronise) {
  const Report report = run_parallel(4, [](SimulatedRank& rank) {
    Runtime& runtime = rank.runtime();
    const auto mutex = runtime.make_mutex();
    const auto condition = runtime.make_condition();
    int produced = 0;
    const auto producer = runtime.start_thread("producer", [&] {
      for (int i = 0; i < 20; ++i) {
        const std::lock_guard lock(*mutex);
        ++produced;
        condition->notify_all();
      }
    });
    std::unique_lock lock(*mutex);
    while (produced < 20) condition->wait_for(lock, 1s);
    EXPECT_EQ(produced, 20);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
