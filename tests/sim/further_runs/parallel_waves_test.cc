#include "sim/further_runs/parallel_waves.h"

#include <atomic>
#include <set>

#include "sim/further_runs/every_schedule.h"
#include "sim/schedule/step_class.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void first_of_many(SimulatedRank& rank) {
  std::int32_t value = rank.rank();
  if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
  for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
}

// The classes of an exploration, in the order in which they are handed over.
std::vector<std::uint64_t> classes_with(int jobs, EverySchedule& seen, std::size_t most = 1000) {
  std::vector<std::uint64_t> classes;
  seen = run_every_schedule(
      {.world_size = 6}, [](const SimulationOptions& guided) { return run(guided, first_of_many); },
      [&](const ExploredRun& ran) {
        classes.push_back(class_of(ran.guide->log()));
        return classes.size() < most;
      },
      jobs);
  return classes;
}

TEST(ParallelWaves, WhatComesOfThemDoesNotDependOnTheNumberOfThreads) {
  EverySchedule alone, together;
  const auto classes = classes_with(1, alone);
  EXPECT_EQ(classes.size(), 120u);
  for (const int jobs : {2, 4}) {
    EXPECT_EQ(classes_with(jobs, together), classes) << jobs;
    EXPECT_EQ(together.end, EverySchedule::End::all_seen);
    EXPECT_EQ(together.classes, alone.classes);
    EXPECT_EQ(together.cut, alone.cut);
    EXPECT_EQ(together.contests, alone.contests);
  }
}

TEST(ParallelWaves, NorDoesWhereTheyAreStopped) {
  EverySchedule alone, together;
  const auto classes = classes_with(1, alone, 30);
  EXPECT_EQ(classes_with(3, together, 30), classes);
  EXPECT_EQ(together.classes, 30u);
  EXPECT_EQ(together.holds_otherwise, alone.holds_otherwise);
}

TEST(ParallelWaves, ARunThatThrowsIsHandedOver) {
  std::atomic<int> runs{0};
  const auto explore = [&runs](int jobs) {
    run_every_schedule(
        {.world_size = 5},
        [&runs](const SimulationOptions& guided) {
          if (++runs > 5) throw std::runtime_error("no more");
          return run(guided, first_of_many);
        },
        [](const ExploredRun&) { return true; }, jobs);
  };
  for (const int jobs : {1, 3}) {
    runs = 0;
    EXPECT_THROW(explore(jobs), std::runtime_error);
  }
}

}  // namespace
}  // namespace gang::sim
