#include "sim/further_runs/neighbouring_runs.h"

#include <algorithm>
#include <vector>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

bool any(const Contest& /*contest*/) { return true; }

// All ranks but 0 send it their number; `took` gets them in the order of its receives.
RankProgram gather(std::vector<int>& took) {
  return [&took](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    if (value > 0) return rank.root()->send(view_of(value), 0);
    took.clear();
    for (int i = 1; i < rank.world_size(); ++i) {
      rank.root()->recv(view_of(value));
      took.push_back(value);
    }
  };
}

TEST(NeighbouringRuns, EachDecidesOneContestOtherwise) {
  std::vector<int> took;
  const RankProgram program = gather(took);
  const RunAgain again = [&](const SimulationOptions& options) { return run(options, program); };
  NeighbouringRuns runs({.world_size = 4}, again);
  EXPECT_THAT(took, ElementsAre(1, 2, 3));
  EXPECT_TRUE(runs.first().holds());
  EXPECT_EQ(runs.contests(), 2U);  // of messages that come one after the other
  ASSERT_EQ(runs.listed().size(), 2U);
  EXPECT_EQ(runs.listed()[0].second.rank, 2);
  EXPECT_EQ(runs.listed()[1].second.rank, 3);
  const auto first = runs.next(any);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->contest.first.rank, 1);
  EXPECT_EQ(first->contest.second.rank, 2);
  EXPECT_EQ(took.at(0), 2);
  const auto second = runs.next(any);
  ASSERT_TRUE(second);
  EXPECT_THAT(took, ElementsAre(1, 3, 2));
  EXPECT_FALSE(runs.next(any));
}

TEST(NeighbouringRuns, OnlyThoseAreMadeThatAreWanted) {
  std::vector<int> took;
  const RankProgram program = gather(took);
  int made = 0;
  const RunAgain again = [&](const SimulationOptions& options) {
    ++made;
    return run(options, program);
  };
  NeighbouringRuns runs({.world_size = 4}, again);
  const auto only = runs.next([](const Contest& contest) { return contest.second.rank == 3; });
  ASSERT_TRUE(only);
  EXPECT_FALSE(runs.next([](const Contest&) { return false; }));
  EXPECT_EQ(made, 2);
}

TEST(NeighbouringRuns, AreFew) {
  std::vector<int> took;
  const RankProgram program = gather(took);
  const RunAgain again = [&](const SimulationOptions& options) { return run(options, program); };
  NeighbouringRuns runs({.world_size = 32}, again);
  std::size_t made = 0;
  while (runs.next(any)) ++made;
  EXPECT_EQ(made, NeighbouringRuns::most_neighbours);
}

TEST(NeighbouringRuns, OfARunThatDoesNotEndNothingIsKnown) {
  std::vector<int> took;
  const RankProgram program = gather(took);
  const RunAgain again = [&](const SimulationOptions& options) { return run(options, program); };
  NeighbouringRuns runs({.world_size = 3, .step_limit = 1}, again);
  EXPECT_EQ(runs.first().outcome, Outcome::step_limit);
  EXPECT_EQ(runs.contests(), std::nullopt);
}

TEST(NeighbouringRuns, WithoutAContestThereAreNone) {
  const RunAgain again = [](const SimulationOptions& options) {
    return run(options, [](SimulatedRank& rank) { rank.root()->barrier(); });
  };
  NeighbouringRuns runs({.world_size = 3}, again);
  EXPECT_EQ(runs.contests(), 0U);
  EXPECT_FALSE(runs.next(any));
}

// Whether a buffer has space is one of these.
TEST(NeighbouringRuns, OfWhatNoGuideIsToldOfAreMadeButNotCounted) {
  std::vector<int> took;
  const RankProgram program = gather(took);
  const RunAgain again = [&](const SimulationOptions& options) { return run(options, program); };
  NeighbouringRuns runs({.world_size = 3, .sends = SendMode::buffered(3)}, again);
  EXPECT_EQ(runs.contests(), std::nullopt);
  EXPECT_TRUE(runs.next(any));
}

}  // namespace
}  // namespace gang::sim
