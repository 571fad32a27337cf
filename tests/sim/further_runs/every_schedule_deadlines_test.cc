// Waits that end by themselves, in explored schedules.
#include <chrono>
#include <map>
#include <string>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

EverySchedule deadlines_seen_of(int world_size, const RankProgram& program) {
  return run_every_schedule(
      {.world_size = world_size},
      [&](const SimulationOptions& guided) { return run(guided, program); },
      [](const ExploredRun&) { return true; });
}

TEST(EveryScheduleOfDeadlines, WhoIsThereWhenAGraceEndsIsTheSameInAll) {
  // Rank 2 comes in the instant of the deadline, rank 3 just too late.
  const EverySchedule all = deadlines_seen_of(4, [](SimulatedRank& rank) {
    if (rank.rank() >= 2) rank.runtime().sleep_for(1s + Duration(rank.rank() - 2));
    const auto shrink = [&rank] { return rank.root()->shrink({.grace = 1s}); };
    if (rank.rank() == 3) {
      EXPECT_TRUE(gang_error_of([&shrink] { shrink(); }));
      return;
    }
    const auto there = shrink();
    EXPECT_EQ(there->size(), 3);
    EXPECT_EQ(rank.runtime().now(), 1s);
    there->barrier();
  });
  EXPECT_EQ(all.end, EverySchedule::End::all_seen);
  EXPECT_EQ(all.classes, 1U);
}

// How many runs gave the shrunk gang which name, if rank r asks for the r-th one.
std::map<std::string, int> names_of_shrunk(const std::vector<std::string>& names) {
  std::map<std::string, int> seen;
  const EverySchedule all =
      deadlines_seen_of(static_cast<int>(names.size()), [&](SimulatedRank& rank) {
        const auto place = static_cast<std::size_t>(rank.rank());
        const auto shrunk = rank.root()->shrink({.name = names[place]});
        EXPECT_EQ(shrunk->size(), rank.world_size());
        if (rank.rank() == 0) ++seen[shrunk->name()];
      });
  EXPECT_EQ(all.end, EverySchedule::End::all_seen);
  return seen;
}

TEST(EveryScheduleOfDeadlines, WhoComesFirstToShrinkDecidesWhereOptionsDiffer) {
  EXPECT_EQ(names_of_shrunk({"a", "a", "a"}), (std::map<std::string, int>{{"a", 1}}));
  EXPECT_EQ(names_of_shrunk({"a", "b"}), (std::map<std::string, int>{{"a", 1}, {"b", 1}}));
  EXPECT_EQ(names_of_shrunk({"a", "b", "c"}),
            (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"c", 2}}));
  // Where rank 2 comes not first, it may come before either of the others, or after both.
  EXPECT_EQ(names_of_shrunk({"a", "a", "b"}), (std::map<std::string, int>{{"a", 3}, {"b", 1}}));
}

TEST(EveryScheduleOfDeadlines, AMonitoredBarrierFailsAlikeInAll) {
  for (const Duration late : {Duration(0), Duration(1)}) {
    const EverySchedule all = deadlines_seen_of(4, [late](SimulatedRank& rank) {
      if (rank.rank() == 3) rank.runtime().sleep_for(5ms + late);
      const auto error = gang_error_of([&rank] { rank.root()->monitored_barrier(5ms); });
      EXPECT_EQ(error.has_value(), late != Duration(0));
    });
    EXPECT_EQ(all.end, EverySchedule::End::all_seen);
    EXPECT_EQ(all.classes, 1U);
  }
}

// A wait for a condition, and a notification in the instant in which it ends by itself.
TEST(EveryScheduleOfDeadlines, ANotificationInTheLastInstantIsInTimeOrNot) {
  for (const bool with_lock : {false, true}) {
    std::map<bool, int> seen;
    const EverySchedule all = deadlines_seen_of(1, [&seen, with_lock](SimulatedRank& rank) {
      const auto mutex = rank.runtime().make_mutex();
      const auto changed = rank.runtime().make_condition();
      const auto thread = rank.runtime().start_thread("notifier", [&] {
        rank.runtime().sleep_for(1ms);
        std::unique_lock<RuntimeMutex> lock(*mutex, std::defer_lock);
        if (with_lock) lock.lock();
        changed->notify_all();
      });
      {
        std::unique_lock<RuntimeMutex> lock(*mutex);
        ++seen[changed->wait_for(lock, 1ms)];
      }
      thread->join();
    });
    EXPECT_EQ(all.end, EverySchedule::End::all_seen);
    EXPECT_EQ(all.classes, 2U);
    EXPECT_EQ(seen, (std::map<bool, int>{{false, 1}, {true, 1}})) << with_lock;
  }
}

}  // namespace
}  // namespace gang::sim
