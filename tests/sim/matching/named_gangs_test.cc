#include "sim/matching/named_gangs.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

GangInfo info_of(const SimulatedRank& rank, std::string name, std::vector<int> ranks) {
  GangInfo info = rank.root()->info();
  info.name = std::move(name);
  info.root_ranks = std::move(ranks);
  return info;
}

TEST(NamedGangs, MembersThatAskForTheSameNameAndRanksMeet) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    const auto gang = rank.gang_of(info_of(rank, "pair", {2, 0}), CallSite::at("a.py", 3));
    EXPECT_EQ(gang->rank(), rank.rank() == 2 ? 0 : 1);
    EXPECT_EQ(gang->size(), 2);
    float value = static_cast<float>(rank.rank());
    gang->all_reduce(view_of(value), ReduceOperation::sum);
    EXPECT_EQ(value, 2);
  });
  EXPECT_TRUE(report.holds());
}

TEST(NamedGangs, OthersAreOtherGangs) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const std::string name = rank.rank() == 0 ? "one" : "other";
    rank.gang_of(info_of(rank, name, {0, 1}), CallSite::at("a.py", 3))->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
}

TEST(NamedGangs, AGangThatNobodyHoldsIsMadeAnew) {
  const Report report = run(1, [](SimulatedRank& rank) {
    for (int i = 0; i < 2; ++i)
      rank.gang_of(info_of(rank, "own", {0}), CallSite::at("a.py", 3))->barrier();
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.counts.gangs, 3U);  // with the root
}

TEST(NamedGangs, TheSecondOfANameWithTheSameMembersIsCalledSo) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto name_of = [&](std::string_view key, std::vector<int> ranks) {
      const auto gang =
          rank.gang_of(info_of(rank, "made:7", std::move(ranks)), CallSite::at("a.py", 7), key);
      gang->barrier();
      return gang->info().name;
    };
    EXPECT_EQ(name_of("first", {0, 1}), "made:7");
    EXPECT_EQ(name_of("second", {0, 1}), "made:7 (2)");
    EXPECT_EQ(name_of("third", {1, 0}), "made:7");
    EXPECT_EQ(name_of("fourth", {0, 1}), "made:7 (3)");
  });
  EXPECT_TRUE(report.holds());
}

TEST(NamedGangs, OnlyMembersGetOne) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      EXPECT_THROW(rank.gang_of(info_of(rank, "own", {0}), CallSite::at("a.py", 3)),
                   InvalidArgument);
    }
  });
  EXPECT_TRUE(report.holds());
}

}  // namespace
}  // namespace gang::sim
