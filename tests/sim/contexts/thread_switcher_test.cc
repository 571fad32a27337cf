#include <atomic>
#include <set>
#include <thread>

#include "gang/rank_locals.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Report run_threads(int world_size, const RankProgram& program) {
  return run({.world_size = world_size, .context = ContextKind::thread}, program);
}

TEST(ThreadSwitcher, EveryRankHasAThreadOfItsOwn) {
  std::set<std::thread::id> threads;
  const Report report = run_threads(8, [&threads](SimulatedRank& rank) {
    const std::thread::id own = std::this_thread::get_id();
    threads.insert(own);
    rank.root()->barrier();
    EXPECT_EQ(std::this_thread::get_id(), own);
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(threads.size(), 8U);
}

TEST(ThreadSwitcher, OneRunsAtATime) {
  std::atomic<int> running = 0;
  int unguarded = 0;
  const Report report = run_threads(16, [&](SimulatedRank& rank) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(++running, 1);
      ++unguarded;
      --running;
      rank.root()->barrier();
    }
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(unguarded, 16 * 50);
}

TEST(ThreadSwitcher, CarriesAThousandRanks) {
  const Report report =
      run_threads(1000, [](SimulatedRank& rank) { EXPECT_EQ(count_members(*rank.root()), 1000); });
  EXPECT_TRUE(report.holds());
}

TEST(ThreadSwitcher, AFurtherThreadHasRankLocalsOfItsOwn) {
  const Report report = run_threads(3, [](SimulatedRank& rank) {
    const RankLocals* own = &rank_locals();
    rank.runtime().start_thread("further", [own] { EXPECT_NE(&rank_locals(), own); })->join();
    EXPECT_EQ(&rank_locals(), own);
  });
  EXPECT_TRUE(report.holds());
}

TEST(ThreadSwitcher, ThreadsThatWaitForEverEndWithTheRun) {
  const Report report = run_threads(4, [](SimulatedRank& rank) {
    if (rank.rank() != 0) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
}

}  // namespace
}  // namespace gang::sim
