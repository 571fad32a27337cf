// Tests of operations and yields, which see what others have done, in explored schedules.
#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

EverySchedule looks_seen_of(const SimulationOptions& options, const RankProgram& program) {
  return run_every_schedule(
      options, [&](const SimulationOptions& guided) { return run(guided, program); },
      [](const ExploredRun&) { return true; });
}

TEST(EveryScheduleOfLooks, ATestSeesAnEndOrNot) {
  std::map<bool, int> seen;
  const EverySchedule all = looks_seen_of({.world_size = 2}, [&seen](SimulatedRank& rank) {
    if (rank.rank() == 1) return rank.root()->barrier();
    Work work = rank.root()->start_barrier();
    ++seen[work.test()];
    work.wait();
  });
  EXPECT_EQ(all.classes, 2);
  EXPECT_EQ(seen, (std::map<bool, int>{{false, 1}, {true, 1}}));
}

std::map<Outcome, int> outcomes_of(const SimulationOptions& options, const RankProgram& program) {
  std::map<Outcome, int> outcomes;
  const EverySchedule all = run_every_schedule(
      options, [&](const SimulationOptions& guided) { return run(guided, program); },
      [&](const ExploredRun& ran) {
        ++outcomes[ran.report.outcome];
        return true;
      });
  EXPECT_EQ(all.end, EverySchedule::End::all_seen);
  return outcomes;
}

TEST(EveryScheduleOfLooks, AWorkThatOutlivesItsProgramHasEndedOrBreaksItsGang) {
  EXPECT_EQ(outcomes_of({.world_size = 2},
                        [](SimulatedRank& rank) {
                          if (rank.rank() == 0) return rank.root()->barrier();
                          Work work = rank.root()->start_barrier();
                          work.detach();
                        }),
            (std::map<Outcome, int>{{Outcome::completed, 1}, {Outcome::failed, 1}}));
}

// Rank 1 dies in its second call; whether the first one has completed by then, and whom its death
// then surprises, is not tried both ways.
TEST(EveryScheduleOfLooks, ADeathAfterAStartedCollectiveIsNotCovered) {
  Fault crash{.kind = FaultKind::crash, .ranks = {1}, .notice = Duration(1'000'000)};
  crash.trigger = {.operation = 1, .moment = FaultMoment::inside};
  crash.error_at = {0};
  const EverySchedule all = looks_seen_of(
      {.world_size = 3, .faults = std::make_shared<const FaultPlan>(FaultPlan{.faults = {crash}})},
      [](SimulatedRank& rank) {
        std::int32_t value = 1;
        Work work = rank.root()->start_barrier();
        if (rank.rank() == 1) rank.root()->send(view_of(value), 0);
        if (rank.rank() == 0) rank.root()->recv(view_of(value), 1);
        work.wait();
      });
  EXPECT_EQ(all.end, EverySchedule::End::unguided);
  EXPECT_EQ(all.unguided, Unguided::fault);
}

// Rank 0 looks at most `most` times whether rank 1 has come; `between` two looks it does something.
EverySchedule seen_of_tries(int most, std::map<int, int>& successful,
                            const std::function<void(SimulatedRank&)>& between) {
  return looks_seen_of({.world_size = 2}, [&, most](SimulatedRank& rank) {
    if (rank.rank() == 1) return rank.root()->barrier();
    Work work = rank.root()->start_barrier();
    int tries = 0;
    while (tries < most && !work.test()) {
      ++tries;
      between(rank);
    }
    ++successful[tries];
    work.wait();
  });
}

TEST(EveryScheduleOfLooks, ALoopOfAFewTestsEndsAfterAnyOfThem) {
  for (const bool yields : {false, true})
    for (const int most : {1, 2, 4}) {
      std::map<int, int> successful;
      const EverySchedule all = seen_of_tries(most, successful, [yields](SimulatedRank& rank) {
        if (yields) rank.runtime().yield();
      });
      EXPECT_EQ(all.end, EverySchedule::End::all_seen);
      EXPECT_EQ(all.classes, most + 1);
      for (int tries = 0; tries <= most; ++tries) EXPECT_EQ(successful[tries], 1) << tries;
    }
}

TEST(EveryScheduleOfLooks, ALoopOfManyTestsIsNotCovered) {
  std::map<int, int> successful;
  const EverySchedule seen = seen_of_tries(20, successful, [](SimulatedRank&) {});
  EXPECT_EQ(seen.end, EverySchedule::End::unguided);
  EXPECT_EQ(seen.unguided, Unguided::many_polls);
}

TEST(EveryScheduleOfLooks, ALoopThatLooksAtTheClockIsNotCovered) {
  for (const bool yields : {false, true}) {
    std::map<int, int> successful;
    const EverySchedule seen = seen_of_tries(2, successful, [yields](SimulatedRank& rank) {
      rank.runtime().now();
      if (yields) rank.runtime().yield();
    });
    EXPECT_EQ(seen.end, EverySchedule::End::unguided);
    EXPECT_EQ(seen.unguided, Unguided::clock);
  }
}

// Its threads may wait for each other through memory, which nobody is told of.
TEST(EveryScheduleOfLooks, AYieldOfARankWithThreadsIsNotCovered) {
  const EverySchedule seen = looks_seen_of({.world_size = 1}, [](SimulatedRank& rank) {
    const auto thread = rank.runtime().start_thread("other", [] {});
    rank.runtime().yield();
    thread->join();
  });
  EXPECT_EQ(seen.end, EverySchedule::End::unguided);
  EXPECT_EQ(seen.unguided, Unguided::shared_memory);
}

// A second look in vain gives others time, so it may see what rank 1 does after its sleep.
TEST(EveryScheduleOfLooks, LooksWhileOthersSleepAreNotCovered) {
  const EverySchedule seen = looks_seen_of({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t first = 0;
    std::int32_t second = 0;
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(std::chrono::milliseconds(1));
      rank.root()->send(view_of(first), 0, 1);
      return rank.root()->send(view_of(second), 0, 2);
    }
    Work one = rank.root()->start_recv(view_of(first), 1, 1);
    Work two = rank.root()->start_recv(view_of(second), 1, 2);
    one.test();
    two.test();
    one.wait();
    two.wait();
  });
  EXPECT_EQ(seen.end, EverySchedule::End::unguided);
  EXPECT_EQ(seen.unguided, Unguided::passing_time);
}

TEST(EveryScheduleOfLooks, LooksAtWhatEndsBeforeOthersSleepAreCovered) {
  const EverySchedule seen = looks_seen_of({.world_size = 2}, [](SimulatedRank& rank) {
    Work work = rank.root()->start_barrier();
    if (rank.rank() == 0) work.test();
    work.wait();
    rank.runtime().sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(seen.end, EverySchedule::End::all_seen);
  EXPECT_EQ(seen.classes, 2);
}

}  // namespace
}  // namespace gang::sim
