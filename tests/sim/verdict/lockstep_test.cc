#include "sim/verdict/lockstep.h"

#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Rank 2 has a part of its own, and reduces once more at the end.
Report world() {
  return recorded(3, [](SimulatedRank& rank) {
    const auto alone = rank.root()->split({.color = rank.rank()}, {.name = "own"}, line(1));
    if (rank.rank() == 2) reduce(*alone, 7);
    reduce(*rank.root(), 2);
    if (rank.rank() == 2) reduce(*rank.root(), 2);
  });
}

TEST(Lockstep, MostRanksDecideWhatIsNext) {
  const Report report = world();
  const CallSequences sequences(*report.histories);
  Lockstep ranks(sequences);
  ASSERT_TRUE(ranks.begin_round());
  for (int rank = 0; rank < 3; ++rank) ranks.go_on(rank);
  const Token common = ranks.begin_round().value();
  EXPECT_THAT(ranks.standards(), ElementsAre(0, 1));
  EXPECT_FALSE(ranks.stands_at(2, common));
  EXPECT_TRUE(ranks.is_ahead(common));
  EXPECT_EQ(ranks.kind_at(2), "all_reduce");
}

TEST(Lockstep, WhatARankDoesBesidesIsPassed) {
  const Report report = world();
  const CallSequences sequences(*report.histories);
  Lockstep ranks(sequences);
  ranks.begin_round();
  for (int rank = 0; rank < 3; ++rank) ranks.go_on(rank);
  const Token common = ranks.begin_round().value();
  const Token own = ranks.next(2)->token;
  ranks.pass_settled(2, common);
  EXPECT_TRUE(ranks.stands_at(2, common));
  EXPECT_THAT(ranks.passed(own), ElementsAre(2));
  EXPECT_EQ(ranks.times(2, own), 1U);
  EXPECT_FALSE(ranks.has_passed(2, *ranks.next(0)->call));
  ranks.go_on(2);
  EXPECT_TRUE(ranks.has_passed(2, *ranks.next(0)->call));
}

TEST(Lockstep, WhoIsStoppedDoesNotCount) {
  const Report report = world();
  const CallSequences sequences(*report.histories);
  Lockstep ranks(sequences);
  for (int rank = 0; rank < 3; ++rank) ranks.stop(rank);
  EXPECT_FALSE(ranks.begin_round());
}

}  // namespace
}  // namespace gang::sim
