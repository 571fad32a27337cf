#include "sim/verdict/blocked_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation.h"

// A BlockedWorld is a snapshot that only the engine takes; these look at it through the report.
namespace gang::sim {
namespace {

using testing::ElementsAre;

std::vector<int> core_of(const Report& report) {
  std::vector<int> ranks;
  for (const BlockedCall& call : report.blocked)
    if (call.is_core) ranks.push_back(call.rank);
  return ranks;
}

TEST(BlockedWorld, ThoseWhoWaitForTheMissingRankAreTheCoreOthersAreNot) {
  const Report report = Simulation({.world_size = 6}).run([](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    if (rank.rank() == 1) return;  // its partner waits for it, and the root for both
    if (rank.rank() == 0) pair->barrier();
    if (rank.rank() == 2) pair->barrier();
    if (rank.rank() == 3) rank.runtime().sleep_for(std::chrono::milliseconds(1)), pair->barrier();
    rank.root()->barrier();
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_EQ(report.blocked.size(), 5U);
  // The barrier of the root waits for rank 1 itself; rank 0 waits for it in the pair.
  EXPECT_THAT(core_of(report), ElementsAre(0, 2, 3, 4, 5));
}

TEST(BlockedWorld, WhoeverWaitsForACycleIsNotPartOfIt) {
  const Report report = Simulation({.world_size = 3}).run([](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->recv(view_of(value), rank.rank() == 0 ? 1 : 0);  // 0 and 1 for each other
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(core_of(report), ElementsAre(0, 1));
  EXPECT_FALSE(report.blocked[2].is_core);
}

TEST(BlockedWorld, ARankLivesOnInItsFurtherContexts) {
  const Report report = Simulation({.world_size = 2}).run([](SimulatedRank& rank) {
    if (rank.rank() == 1) return rank.root()->barrier();
    const auto helper = rank.runtime().start_thread("helper", [&rank] {
      rank.runtime().sleep_for(std::chrono::seconds(1));
      rank.root()->barrier();
    });
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(BlockedWorld, AReceiveFromAnySourceWaitsForOneOfTheOthers) {
  const Report report = Simulation({.world_size = 3}).run([](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->recv(view_of(value));
    if (rank.rank() == 1) rank.root()->barrier();
  });
  ASSERT_EQ(report.blocked.size(), 2U);
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1, 2));
  EXPECT_THAT(report.blocked[1].waits_for, ElementsAre(0, 2));
}

}  // namespace
}  // namespace gang::sim
