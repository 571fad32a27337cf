#include "sim/matching/sim_gang.h"

#include "gang/gang.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(SimGang, TheRootHasEveryRankAndTheOptionsOfTheSimulation) {
  const Report report = run({.world_size = 5, .timeout = 3s}, [](SimulatedRank& rank) {
    const Gang& root = *rank.root();
    EXPECT_EQ(root.rank(), rank.rank());
    EXPECT_EQ(root.size(), 5);
    EXPECT_EQ(root.name(), "root");
    EXPECT_EQ(root.timeout(), 3s);
    EXPECT_EQ(root.info().backend, "sim");
    EXPECT_EQ(label_of(root.info()), "root[0-4]");
  });
  EXPECT_TRUE(report.holds());
}

TEST(SimGang, BadArgumentsAreRefusedLocallyAndNothingIsSent) {
  const Report report = run(2, [](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::array<std::int32_t, 3> values{};
    EXPECT_THROW(root.broadcast(view(values), 2), InvalidArgument);
    EXPECT_THROW(root.reduce(view(values), ReduceOperation::sum, -1), InvalidArgument);
    EXPECT_THROW(root.send(view(values), 2), InvalidArgument);
    EXPECT_THROW(root.recv(view(values), 7), InvalidArgument);
    EXPECT_THROW(root.all_to_all(view(values), view(values)), InvalidArgument);
    EXPECT_THROW(root.barrier({.timeout = Duration(0)}), InvalidArgument);
    EXPECT_THROW(root.monitored_barrier(Duration(0)), InvalidArgument);
    EXPECT_EQ(count_members(root), 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.counts.rank_operations, 2U);
}

TEST(SimGang, LivesOnWithoutItsSimulation) {
  std::shared_ptr<Gang> kept;
  run(1, [&kept](SimulatedRank& rank) { kept = rank.root(); });
  EXPECT_EQ(kept->size(), 1);
  EXPECT_THROW(kept->barrier(), InvalidOperation);
  EXPECT_THROW(kept->start_barrier(), InvalidOperation);
  kept->close();
}

TEST(SimGang, AHandleThatIsDroppedClosesOnlyItsOwnSide) {
  const Report report = run(3, [](SimulatedRank& rank) {
    auto child = child_of(*rank.root(), {0, 1, 2});
    std::int32_t value = 7;
    if (rank.rank() == 2) {
      child.reset();
    } else if (rank.rank() == 0) {
      child->send(view_of(value), 1);
    } else {
      child->recv(view_of(value), 0);
    }
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimGang, ClosingClosesWhatWasMadeFromItOnThisRank) {
  for (const ContextKind context : all_contexts()) {
    const Report report = run({.world_size = 2, .context = context}, [](SimulatedRank& rank) {
      Gang& root = *rank.root();
      const auto child = child_of(root, {0, 1});
      const auto sibling = child_of(root, {0, 1});
      const auto grandchild = child->split({.color = 0});
      const auto great_grandchild = child_of(*grandchild, {1, 0});
      const auto shrunk = child->shrink({.grace = 1s});
      EXPECT_EQ(child_of(root, {0, 1}).use_count(), 1);  // goes before its parent
      if (rank.rank() == 0) child->close();
      EXPECT_EQ(grandchild->is_closed(), rank.rank() == 0);
      EXPECT_EQ(great_grandchild->is_closed(), rank.rank() == 0);
      EXPECT_FALSE(root.is_closed() || sibling->is_closed() || shrunk->is_closed());
      EXPECT_EQ(count_members(*sibling), 2);
      root.close();
      EXPECT_TRUE(sibling->is_closed() && great_grandchild->is_closed());
      EXPECT_FALSE(shrunk->is_closed());
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(SimGang, GangsOfOneRankMayBeUsedFromItsFurtherContexts) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    const auto thread =
        rank.runtime().start_thread("other", [&] { EXPECT_EQ(count_members(*child), 2); });
    EXPECT_EQ(count_members(*rank.root()), 2);
    thread->join();
  });
  EXPECT_TRUE(report.holds());
}

TEST(SimGang, AWorldOfOneNeedsNoPeer) {
  const Report report = run(1, [](SimulatedRank& rank) {
    EXPECT_EQ(count_members(*rank.root()), 1);
    rank.root()->barrier();
    rank.root()->monitored_barrier(1ms);
    EXPECT_EQ(count_members(*rank.root()->split({.color = 3})), 1);
  });
  EXPECT_TRUE(report.holds());
}

TEST(SimGang, AStartedCallOnABrokenGangFailsInEveryKindOfContext) {
  for (const ContextKind context : all_contexts())
    run({.world_size = 1, .context = context}, [](SimulatedRank& rank) {
      rank.root()->abort();
      EXPECT_THROW(rank.root()->barrier(), GangError);
      EXPECT_THROW(rank.root()->start_barrier(), GangError);
    });
}

TEST(SimGang, AForeignThreadIsRefused) {
  for (const ContextKind context : deterministic_contexts()) {
    const Report report = run({.world_size = 2, .context = context}, [](SimulatedRank& rank) {
      rank.root()->barrier();
      const auto refused = [](const auto& call) {
        EXPECT_THAT(call, testing::Throws<InvalidOperation>(testing::Property(
                              &InvalidOperation::what, HasSubstr("did not start"))));
      };
      std::jthread([&] {
        refused([&rank] { rank.root()->barrier(); });
        refused([&rank] { rank.root()->start_barrier(); });
        refused([&rank] { rank.runtime().yield(); });
      }).join();
      rank.root()->barrier();
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(SimGang, TwoThreadsInOneGangAtTheSameTimeAreAFinding) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const auto other = rank.runtime().start_thread("other", [&rank] { rank.root()->barrier(); });
    rank.root()->barrier();
    other->join();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("concurrent_use"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("used by one thread at a time"));
}

TEST(SimGang, TwoThreadsInOneGangAfterEachOtherAreFine) {
  const Report report = run(3, [](SimulatedRank& rank) {
    rank.root()->barrier();
    rank.runtime().start_thread("other", [&rank] { rank.root()->barrier(); })->join();
    Work work = rank.root()->start_barrier();
    const auto waiting = rank.runtime().start_thread("waiting", [&work] { work.wait(); });
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
