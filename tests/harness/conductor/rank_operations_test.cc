#include "harness/conductor/rank_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "harness/conductor/frame.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RankOperations::Operation operation(std::uint64_t id) {
  return std::make_shared<StartedOperation>(
      OperationMessage{.id = id, .kind = OperationKind::barrier},
      GangCall{.gang = make_fake_gang()}, nullptr);
}

void run(const std::function<void(sim::SimulatedRank&, RankOperations&)>& program) {
  const sim::Report report =
      sim::Simulation({.world_size = 1}).run([&program](sim::SimulatedRank& rank) {
        RankOperations operations(rank);
        program(rank, operations);
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(RankOperations, AreKnownByTheirNumbersUntilTheyHaveBeenWaitedForOrDropped) {
  run([](sim::SimulatedRank&, RankOperations& operations) {
    const std::vector all = {operation(7), operation(8), operation(9)};
    for (const auto& each : all) operations.add(each);
    for (const auto& each : all) EXPECT_EQ(operations.await(each->message().id, true, {}), each);
    EXPECT_THROW(operations.add(operation(8)), ProtocolError);
    operations.erase(std::vector{all[0]});
    operations.drop(8);
    for (const std::uint64_t id : {7, 8}) {
      EXPECT_THROW(operations.await(id, false, {}), ProtocolError);
      EXPECT_THROW(operations.drop(id), ProtocolError);
    }
    EXPECT_EQ(operations.await(9, false, {}), all[2]);
    EXPECT_THAT(operations.take_rest(), ElementsAre(all[1], all[2]));
    EXPECT_THAT(operations.take_rest(), IsEmpty());
  });
}

// As when two threads have waited for the same one.
TEST(RankOperations, ANumberMayBelongToAnotherOneByTheTimeItIsErased) {
  run([](sim::SimulatedRank&, RankOperations& operations) {
    const auto first = operation(7);
    const auto second = operation(7);
    operations.add(first);
    operations.erase(std::vector{first});
    operations.add(second);
    operations.erase(std::vector{first});
    EXPECT_EQ(operations.await(7, false, {}), second);
  });
}

TEST(RankOperations, OneThatMayComeIsAwaited) {
  run([](sim::SimulatedRank& rank, RankOperations& operations) {
    const auto late = operation(7);
    const auto starter = rank.runtime().start_thread("starter", [&] {
      rank.runtime().sleep_for(std::chrono::seconds(1));
      operations.add(operation(6));
      rank.runtime().sleep_for(std::chrono::seconds(1));
      operations.add(late);
    });
    EXPECT_EQ(operations.await(7, true, {}), late);
    EXPECT_EQ(rank.runtime().now(), Duration(std::chrono::seconds(2)));
  });
}

TEST(RankOperations, OneThatNeverComesIsADeadlockThere) {
  const sim::Report report = sim::Simulation({.world_size = 1}).run([](sim::SimulatedRank& rank) {
    RankOperations(rank).await(7, true, CallSite::at("train.py", 3));
  });
  EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
  ASSERT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(to_string(report.blocked[0].location), "train.py:3");
  EXPECT_THAT(report.blocked[0].call.kind, testing::HasSubstr("operation 7"));
}

}  // namespace
}  // namespace gang::harness
