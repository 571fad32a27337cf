#include "sim/verdict/lock_causes.h"

#include "sim/further_runs/settled_run.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using Lock = std::unique_lock<RuntimeMutex>;

// A thread that ends without unlocking a mutex that its rank needs.
void leak(SimulatedRank& rank, RuntimeMutex& mutex) {
  rank.runtime().start_thread("loader", [&mutex] { mutex.lock(); })->join();
  const Lock lock(mutex);
}

TEST(LockCauses, OnlyTheRankWhoseThreadLeakedALockIsToBlame) {
  const Report report = run_settled({.world_size = 4}, [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    if (rank.rank() == 1) leak(rank, *mutex);
    rank.root()->barrier({}, CallSite::at("train.cc", 5));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("deadlock")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:3");
  EXPECT_THAT(report.findings[0].message, HasSubstr("thread 'loader'"));
  EXPECT_EQ(report.blocked.size(), 4U);
  for (const BlockedCall& call : report.blocked) EXPECT_EQ(call.is_core, call.rank == 1);
}

TEST(LockCauses, AnIndependentCauseIsNotHidden) {
  const Report report = run_settled({.world_size = 4}, [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
    float value = 0.0F;
    if (rank.rank() == 1) leak(rank, *mutex);
    if (rank.rank() < 2) return pair->barrier();
    pair->recv(view_of(value), 1 - pair->rank());
  });
  ASSERT_THAT(ids_of(report), ElementsAre("deadlock", "point_to_point_cycle")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(report.findings[1].ranks, ElementsAre(2, 3));
}

TEST(LockCauses, RanksThatLeakAlikeShareAFinding) {
  const Report report = run_settled({.world_size = 3}, [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    leak(rank, *mutex);
  });
  ASSERT_THAT(report.findings, testing::SizeIs(1)) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1, 2));
}

// Rank `odd` reduces on the root while it holds a lock that its reporter needs to reach the gang in
// which others wait: the first `reporting` ranks.
void hold_in_collective(SimulatedRank& rank, int odd, int reporting) {
  const bool reports = rank.rank() < reporting;
  const auto metrics = rank.root()->split({.color = reports ? 0 : no_color}, {.name = "metrics"});
  const auto mutex = rank.runtime().make_mutex();
  float loss = 1.0F;
  float norm = 1.0F;
  const auto report = [&] {
    metrics->all_reduce(view_of(loss), ReduceOperation::sum, {}, CallSite::at("train.cc", 1));
  };
  const auto reduce = [&] {
    rank.root()->all_reduce(view_of(norm), ReduceOperation::sum, {}, CallSite::at("train.cc", 2));
  };
  if (rank.rank() != odd) {
    if (reports) report();
    return reduce();
  }
  Lock lock(*mutex);
  auto reporter = rank.runtime().start_thread("reporter", [&] {
    const Lock own(*mutex);
    report();
  });
  reduce();
  lock.unlock();
  reporter->join();
}

TEST(LockCauses, ALockThatIsHeldAcrossACollectiveIsTheCause) {
  // With as many reporting ranks as there are, the two gangs have the same members.
  for (const int reporting : {2, 3, 4}) {
    const Report report = run_settled({.world_size = 4}, [reporting](SimulatedRank& rank) {
      hold_in_collective(rank, 1, reporting);
    });
    ASSERT_THAT(report.findings, testing::SizeIs(1)) << to_string(report);
    const Finding& finding = report.findings[0];
    EXPECT_THAT(finding.ranks, ElementsAre(1)) << to_string(report);
    EXPECT_EQ(to_string(finding.location), "train.cc:2");
    EXPECT_EQ(finding.call.kind, "all_reduce");
    EXPECT_THAT(finding.message, HasSubstr("Rank 1 holds a mutex in all_reduce"));
    EXPECT_THAT(finding.message, HasSubstr("thread 'reporter'"));
  }
}

// All ranks hold one: without, the deadlock would be the same.
TEST(LockCauses, ALockThatEveryRankHoldsIsToldAndNotBlamed) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    float value = 0.0F;
    Lock lock(*mutex);
    auto idle = rank.runtime().start_thread("idle", [&] { const Lock own(*mutex); });
    rank.root()->recv(view_of(value), 1 - rank.rank(), 0, {}, CallSite::at("train.cc", 2));
    lock.unlock();
    idle->join();
  });
  ASSERT_THAT(report.findings, testing::SizeIs(1)) << to_string(report);
  EXPECT_EQ(report.findings[0].id, "point_to_point_cycle");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(report.findings[0].message, testing::Not(HasSubstr("mutex")));
  EXPECT_THAT(report.findings[0].detail, HasSubstr("Rank 0 holds a mutex in recv"));
}

}  // namespace
}  // namespace gang::sim
