#include "sim/passing_time.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using std::chrono_literals::operator""us;

TEST(PassingTime, APollWithSleepsAndNoTimeoutEndsInAVerdict) {
  const Report report = run({.world_size = 3, .timeout = no_timeout}, [](SimulatedRank& rank) {
    if (rank.rank() != 0) return rank.root()->barrier({}, CallSite::at("nap.cc", 1));
    float value = 0;
    Work work = rank.root()->start_recv(view_of(value), 1, 0, {}, CallSite::at("nap.cc", 2));
    while (!work.test()) rank.runtime().sleep_for(1ms);
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_EQ(report.findings.size(), 1U) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_EQ(to_string(report.blocked.at(0).location), "nap.cc:2");
}

TEST(PassingTime, AHeartbeatIsNotBlamed) {
  const Report report = run({.world_size = 3, .timeout = no_timeout}, [](SimulatedRank& rank) {
    const auto heart = rank.runtime().start_thread("heart", [&rank] {
      for (;;) rank.runtime().sleep_for(1s);
    });
    if (rank.rank() != 2) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(report.findings.at(0).ranks, ElementsAre(2)) << to_string(report);
  for (const BlockedCall& call : report.blocked)
    EXPECT_TRUE(call.context.empty() || call.rank == 2) << "rank 2 joins its heartbeat";
}

TEST(PassingTime, ABoundedLoopOfSleepsEnds) {
  const Report report = run({.world_size = 3, .timeout = no_timeout}, [](SimulatedRank& rank) {
    if (rank.rank() == 0)
      for (int i = 0; i < 20'000; ++i) rank.runtime().sleep_for(1ms);
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(PassingTime, AFarEventIsWaitedForHoweverOftenOthersSleep) {
  const Report report = run({.world_size = 2, .timeout = no_timeout}, [](SimulatedRank& rank) {
    float value = 1;
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(2000s);
      return rank.root()->send(view_of(value), 0);
    }
    Work work = rank.root()->start_recv(view_of(value), 1);
    while (!work.test()) rank.runtime().sleep_for(1ms);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(PassingTime, ProgressOfOthersIsNotInVain) {
  const Report report = run({.world_size = 3, .timeout = no_timeout}, [](SimulatedRank& rank) {
    float value = 1;
    const auto pair = child_of(*rank.root(), {1, 2});
    if (rank.rank() == 0) {
      Work work = rank.root()->start_recv(view_of(value), 1);
      while (!work.test()) rank.runtime().sleep_for(1us);
      return;
    }
    for (int i = 0; i < 300; ++i) {
      rank.runtime().sleep_for(5ms);
      pair->barrier();
    }
    if (rank.rank() == 1) rank.root()->send(view_of(value), 0);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
