#include "sim/matching/group_creation.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void expect_holds(int world_size, const RankProgram& program) {
  const Report report = run(world_size, program);
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(CreateGang, KeepsTheOrderOfItsRanks) {
  expect_holds(4, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {3, 0, 2});
    if (rank.rank() == 1) {
      EXPECT_EQ(child, nullptr);
      return;
    }
    EXPECT_THAT(child->info().root_ranks, ElementsAre(3, 0, 2));
    EXPECT_EQ(child->rank(), rank.rank() == 3 ? 0 : rank.rank() == 0 ? 1 : 2);
    std::int32_t value = rank.rank();
    child->broadcast(view_of(value), 0);
    EXPECT_EQ(value, 3);
  });
}

TEST(CreateGang, OfAChildTakesRanksOfThatChild) {
  expect_holds(6, [](SimulatedRank& rank) {
    const auto odd = child_of(*rank.root(), {5, 3, 1});
    if (!odd) return;
    const auto pair = child_of(*odd, {2, 0});
    if (!pair) return;
    EXPECT_THAT(pair->info().root_ranks, ElementsAre(1, 5));
    EXPECT_EQ(count_members(*pair), 2);
  });
}

TEST(CreateGang, InheritsTimeoutAndDeviceUnlessGiven) {
  SimulationOptions options{.world_size = 2, .timeout = 7s};
  const Report report = run(options, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    EXPECT_EQ(child->timeout(), 7s);
    EXPECT_EQ(child->device(), rank.root()->device());
    const auto quick = child_of(*child, {0, 1}, {.name = "quick", .timeout = 3ms});
    EXPECT_EQ(quick->name(), "quick");
    EXPECT_EQ(quick->timeout(), 3ms);
    const auto inherited = child_of(*quick, {1, 0});
    EXPECT_EQ(inherited->timeout(), 3ms);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(CreateGang, ChildrenWithoutANameAreNumbered) {
  expect_holds(2, [](SimulatedRank& rank) {
    EXPECT_EQ(child_of(*rank.root(), {0, 1})->name(), "root.0");
    const auto second = child_of(*rank.root(), {1, 0});
    EXPECT_EQ(second->name(), "root.1");
    EXPECT_EQ(child_of(*second, {0, 1})->name(), "root.1.0");
  });
}

TEST(CreateGang, BadRanksAreRefusedLocallyAndNothingIsSent) {
  expect_holds(2, [](SimulatedRank& rank) {
    for (const auto& ranks : std::vector<std::vector<int>>{{}, {2}, {-1}, {0, 0}, {0, 1, 2}})
      EXPECT_THROW(child_of(*rank.root(), ranks), InvalidArgument);
    EXPECT_EQ(count_members(*rank.root()), 2);
  });
}

TEST(Split, OrdersByKeyThenParentRank) {
  expect_holds(6, [](SimulatedRank& rank) {
    const int r = rank.rank();
    // Colours 0 and 7; within each, the last comes first, and equal keys keep the parent's order.
    const auto child = rank.root()->split({.color = r % 2 * 7, .key = r >= 4 ? -1 : 5});
    if (r % 2 == 0)
      EXPECT_THAT(child->info().root_ranks, ElementsAre(4, 0, 2));
    else
      EXPECT_THAT(child->info().root_ranks, ElementsAre(5, 1, 3));
    EXPECT_EQ(child->info().root_ranks[static_cast<std::size_t>(child->rank())], r);
    EXPECT_EQ(count_members(*child), 3);
  });
}

TEST(Split, NoColourGivesNull) {
  expect_holds(3, [](SimulatedRank& rank) {
    const auto child = rank.root()->split({.color = rank.rank() == 1 ? no_color : 0});
    EXPECT_EQ(child == nullptr, rank.rank() == 1);
    const auto none = rank.root()->split({});
    EXPECT_EQ(none, nullptr);
  });
}

TEST(Split, Nests) {
  expect_holds(8, [](SimulatedRank& rank) {
    const auto half = rank.root()->split({.color = rank.rank() / 4});
    const auto quarter = half->split({.color = half->rank() / 2, .key = -half->rank()});
    const int first = rank.rank() / 2 * 2;
    EXPECT_THAT(quarter->info().root_ranks, ElementsAre(first + 1, first));
    EXPECT_EQ(count_members(*quarter), 2);
  });
}

TEST(Split, CostsNoMoreThanTheWorldHasRanks) {
  const Report report = run(4096, [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    EXPECT_EQ(count_members(*pair), 2);
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.counts.gangs, 1U + 2048U);
}

}  // namespace
}  // namespace gang::sim
