#include "sim/engine/engine.h"

#include <memory>
#include <set>

#include "sim/schedule/guide.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using std::chrono_literals::operator""us;

// The order in which ranks reach the same place depends on the schedule.
std::vector<int> order_of(const SimulationOptions& options, Report* report = nullptr) {
  std::vector<int> order;
  Report result = run(options, [&order](SimulatedRank& rank) {
    for (int i = 0; i < 4; ++i) {
      Work work = rank.root()->start_barrier();
      order.push_back(rank.rank());
      work.wait();
    }
  });
  EXPECT_NE(result.outcome, Outcome::deadlock);
  if (report != nullptr) *report = std::move(result);
  return order;
}

TEST(Engine, RoundRobinGoesFromRankToRank) {
  const std::vector<int> order = order_of({.world_size = 3});
  EXPECT_EQ(std::vector<int>(order.begin(), order.begin() + 3), (std::vector<int>{0, 1, 2}));
}

// Who runs while a context yields is a choice.
TEST(Engine, AVerdictAfterAYieldIsOfThisScheduleOnly) {
  const auto schedules = [](bool yields) {
    const Report report = run(2, [yields](SimulatedRank& rank) {
      if (rank.rank() == 0) return rank.root()->barrier();
      if (yields) rank.runtime().yield();
    });
    EXPECT_THAT(blocked_ranks(report), ElementsAre(0));
    return report.certainty.value().schedules;
  };
  EXPECT_EQ(schedules(false), Schedules::every);
  EXPECT_EQ(schedules(true), Schedules::at_least_this);
}

TEST(Engine, ARandomScheduleIsAFunctionOfTheSeed) {
  const auto order = [](std::uint64_t seed) {
    return order_of({.world_size = 6, .seed = seed, .scheduler = SchedulerKind::random});
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Engine, ARecordedScheduleReplaysExactly) {
  const Knowledge none;
  for (const auto scheduler :
       {SchedulerKind::round_robin, SchedulerKind::random, SchedulerKind::guided})
    for (const std::uint64_t seed : {1, 2, 3}) {
      SimulationOptions options{.world_size = 6, .seed = seed, .scheduler = scheduler};
      options.schedule = Recording::on;
      if (scheduler == SchedulerKind::guided) options.guide = std::make_shared<Guide>();
      if (options.guide) options.guide->begin({}, none);
      Report recorded;
      const auto order = order_of(options, &recorded);
      ASSERT_FALSE(recorded.schedule.choices.empty());
      Report replayed;
      const SimulationOptions replay{.world_size = 6,
                                     .seed = seed,
                                     .scheduler = SchedulerKind::replay,
                                     .replay = parse_schedule(to_string(recorded.schedule))};
      EXPECT_EQ(order_of(replay, &replayed), order);
      EXPECT_EQ(replayed.outcome, Outcome::completed) << replayed.divergence;
      EXPECT_EQ(replayed.trace.digest, recorded.trace.digest);
      EXPECT_EQ(replayed.counts, recorded.counts);
    }
}

Report replay_of(Schedule schedule, int world_size, const RankProgram& program) {
  return run(
      {.world_size = world_size, .scheduler = SchedulerKind::replay, .replay = std::move(schedule)},
      program);
}

TEST(Engine, ADeadlockReplaysAsTheSameDeadlock) {
  const RankProgram program = [](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() != 1) rank.root()->barrier();
  };
  const Report recorded = run(
      {.world_size = 4, .scheduler = SchedulerKind::random, .schedule = Recording::on}, program);
  const Report replayed = replay_of(recorded.schedule, 4, program);
  EXPECT_EQ(replayed.outcome, Outcome::deadlock);
  EXPECT_EQ(replayed.findings, recorded.findings);
  EXPECT_EQ(replayed.trace.digest, recorded.trace.digest);
}

TEST(Engine, AScheduleOfAnotherRunDivergesAndSaysWhere) {
  const auto rounds = [](int count) {
    return [count](SimulatedRank& rank) {
      for (int i = 0; i < count; ++i) rank.root()->barrier();
    };
  };
  const SimulationOptions recording{
      .world_size = 4, .scheduler = SchedulerKind::random, .schedule = Recording::on};
  const Schedule schedule = run(recording, rounds(3)).schedule;
  const std::string steps = std::to_string(schedule.choices.size());

  const Report other_world = replay_of(schedule, 5, rounds(3));
  EXPECT_EQ(other_world.outcome, Outcome::diverged);
  EXPECT_EQ(other_world.divergence, "step 0: recorded was a choice among 4 contexts; found are 5");

  const Report longer = replay_of(schedule, 4, rounds(4));
  EXPECT_EQ(longer.outcome, Outcome::diverged);
  EXPECT_THAT(longer.divergence, HasSubstr("step "));

  const Report shorter = replay_of(schedule, 4, rounds(1));
  EXPECT_EQ(shorter.outcome, Outcome::diverged);
  EXPECT_THAT(shorter.divergence, HasSubstr("step "));

  const Report none = replay_of(schedule, 4, [](SimulatedRank&) {});
  EXPECT_EQ(none.outcome, Outcome::diverged);
}

TEST(Engine, AScheduleThatIsLongerThanTheRunDiverges) {
  const SimulationOptions recording{.world_size = 2, .schedule = Recording::on};
  const RankProgram program = [](SimulatedRank& rank) { rank.root()->barrier(); };
  Schedule schedule = run(recording, program).schedule;
  const std::string steps = std::to_string(schedule.choices.size());
  schedule.choices.push_back({0, 2});
  const Report report = replay_of(schedule, 2, program);
  EXPECT_EQ(report.outcome, Outcome::diverged);
  EXPECT_THAT(report.divergence, HasSubstr("step " + steps + ": the run has ended"));
}

TEST(Engine, StopsAtItsStepLimit) {
  const Report report = run({.world_size = 3, .step_limit = 100}, [](SimulatedRank& rank) {
    for (;;) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::step_limit);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_GE(report.counts.switches, 100U);
  EXPECT_LT(report.counts.switches, 120U);
}

TEST(Engine, AStepLimitThatIsNotReachedChangesNothing) {
  const Report report = run({.world_size = 3, .step_limit = 100},
                            [](SimulatedRank& rank) { rank.root()->barrier(); });
  EXPECT_TRUE(report.holds());
}

TEST(Engine, ProgramsThatSwallowTheEndOfTheRunAreEndedAllTheSame) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    for (int i = 0; i < 3; ++i) {
      try {
        rank.root()->barrier();
      } catch (...) {  // NOLINT(bugprone-empty-catch)
      }
    }
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
}

// -- Contexts that wait for something outside --

TEST(WaitOutside, LetsAllOthersGoFirst) {
  std::vector<int> order;
  const Report report = run(3, [&order](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.wait_outside();
    for (int i = 0; i < 3; ++i) {
      order.push_back(rank.rank());
      std::int32_t value = i;
      if (rank.rank() == 1) rank.root()->send(view_of(value), 2);
      if (rank.rank() == 2) rank.root()->recv(view_of(value), 1);
    }
  });
  EXPECT_TRUE(report.holds());
  ASSERT_EQ(order.size(), 9U);
  EXPECT_EQ(std::vector<int>(order.end() - 3, order.end()), (std::vector<int>{0, 0, 0}));
}

// In which order two ranks take their turns, three each.
std::vector<int> turns_of(SimulationOptions options) {
  std::vector<int> order;
  options.world_size = 2;
  run(options, [&order](SimulatedRank& rank) {
    for (int i = 0; i < 3; ++i) {
      rank.await_turn();
      order.push_back(rank.rank());
    }
  });
  return order;
}

TEST(AwaitTurn, LetsOthersGoFirstUnlessCallsDecide) {
  EXPECT_EQ(turns_of({}), (std::vector<int>{0, 1, 0, 1, 0, 1}));
  const auto guide = std::make_shared<Guide>();
  const Knowledge none;
  guide->begin({}, none);
  EXPECT_EQ(turns_of({.scheduler = SchedulerKind::guided, .guide = guide}),
            (std::vector<int>{0, 0, 0, 1, 1, 1}));
}

TEST(SimulatedRank, KnowsItsRunFromOthers) {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 3; ++i)
    run(2, [&numbers](SimulatedRank& rank) { numbers.insert(rank.run_number()); });
  EXPECT_EQ(numbers.size(), 3U);
}

TEST(WaitOutside, ComesBeforeTimePasses) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0) return rank.runtime().sleep_for(5ms);
    for (int i = 0; i < 10; ++i) rank.wait_outside();
    EXPECT_EQ(rank.runtime().now(), TimePoint(0));
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(report.virtual_time, 5ms);
}

TEST(WaitOutside, NoVerdictFallsMeanwhile) {
  bool has_spoken = false;
  const Report report = run(2, [&has_spoken](SimulatedRank& rank) {
    for (int i = 0; rank.rank() == 0 && i < 10; ++i) rank.wait_outside();
    has_spoken = true;
    rank.root()->barrier();
  });
  EXPECT_TRUE(has_spoken);
  EXPECT_TRUE(report.holds());
}

TEST(WaitOutside, TheVerdictFallsOnceNobodyIsOutside) {
  const Report report = run(3, [](SimulatedRank& rank) {
    for (int i = 0; i < rank.rank(); ++i) rank.wait_outside();
    if (rank.rank() != 2) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(blocked_ranks(report), (std::vector<int>{0, 1}));
}

TEST(WaitOutside, TheSchedulerChoosesWhoIsNext) {
  const auto order = [](std::uint64_t seed) {
    std::vector<int> chosen;
    run({.world_size = 6, .seed = seed, .scheduler = SchedulerKind::random},
        [&chosen](SimulatedRank& rank) {
          rank.wait_outside();
          chosen.push_back(rank.rank());
        });
    return chosen;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(WaitOutside, ARunThatEndsEndsItsWaits) {
  const Report report = run({.world_size = 2, .step_limit = 100}, [](SimulatedRank& rank) {
    for (;;) rank.wait_outside();
  });
  EXPECT_EQ(report.outcome, Outcome::step_limit);
}

// Collectives, messages, sleeps, children, further contexts, failures: what a trace could differ
// in.
void program_of_everything(SimulatedRank& rank) {
  Gang& root = *rank.root();
  RandomStream random = rank.random_stream("data");
  const auto half = root.split({.color = rank.rank() % 2, .key = -rank.rank()});
  std::vector<std::int32_t> values(100, rank.rank());
  for (int i = 0; i < 3; ++i) {
    Work work = root.start_all_reduce(view(values), ReduceOperation::max);
    rank.runtime().sleep_for(Duration(1 + random.below(50)));
    half->barrier();
    while (!work.test()) {
    }
  }
  const auto mutex = rank.runtime().make_mutex();
  const auto thread = rank.runtime().start_thread("further", [&] {
    const std::lock_guard lock(*mutex);
    half->barrier();
  });
  {
    const std::lock_guard lock(*mutex);
    rank.runtime().yield();
  }
  thread->join();
  std::int32_t value = rank.rank();
  if (rank.rank() == 0)
    for (int i = 1; i < rank.world_size(); ++i) root.recv(view_of(value));
  else
    root.send(view_of(value), 0);
  if (rank.rank() == 3) throw std::runtime_error("at the end");
  root.barrier();
}

void program_that_deadlocks(SimulatedRank& rank) {
  const auto pair = rank.root()->split({.color = rank.rank() / 2});
  if (rank.rank() % 3 == 0)
    rank.root()->barrier();
  else
    pair->barrier();
}

TEST(Determinism, EveryRunOfOneProgramGivesOneTraceOnEveryContext) {
  for (const RankProgram& program :
       {RankProgram(program_of_everything), RankProgram(program_that_deadlocks)})
    for (const auto scheduler : {SchedulerKind::round_robin, SchedulerKind::random})
      for (const auto execution : {ExecutionModel::independent, ExecutionModel::stream_ordered}) {
        std::optional<Report> first;
        for (const ContextKind context : deterministic_contexts())
          for (int repetition = 0; repetition < 2; ++repetition) {
            const Report report = run({.world_size = 7,
                                       .seed = 5,
                                       .context = context,
                                       .scheduler = scheduler,
                                       .execution = execution,
                                       .sends = SendMode::buffered(8),
                                       .trace = Recording::on,
                                       .schedule = Recording::on},
                                      program);
            if (!first) first = report;
            EXPECT_EQ(to_string(report.trace), to_string(first->trace));
            EXPECT_EQ(report.trace, first->trace);
            EXPECT_EQ(report.schedule, first->schedule);
            EXPECT_EQ(report.findings, first->findings);
            EXPECT_EQ(report.blocked, first->blocked);
            EXPECT_EQ(report.counts, first->counts);
            EXPECT_EQ(report.virtual_time, first->virtual_time);
          }
      }
}

// -- Idle is not dead --

TEST(Polling, ABoundedLoopOfPollsEnds) {
  for (const ContextKind context : all_contexts()) {
    const Report report = run({.world_size = 2, .context = context}, [](SimulatedRank& rank) {
      if (rank.rank() == 0)
        for (int i = 0; i < 20'000; ++i) rank.runtime().yield();
      rank.root()->barrier();
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(Polling, ABoundedLoopOfTestsEndsAndMayHelpThen) {
  const Report report = run(2, [](SimulatedRank& rank) {
    float value = 0;
    if (rank.rank() == 1) {
      rank.root()->recv(view_of(value), 0);
      return rank.root()->send(view_of(value), 0);
    }
    Work work = rank.root()->start_recv(view_of(value), 1);
    for (int i = 0; i < 20'000 && !work.test(); ++i) {
    }
    float other = 1;
    rank.root()->send(view_of(other), 1);
    work.wait();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Polling, TimePassesForOneWhoPollsIt) {
  for (const auto span : {Duration(100us), Duration(10s), Duration(14 * 60s)}) {
    const Report report = run(2, [span](SimulatedRank& rank) {
      if (rank.rank() == 0) {
        const TimePoint end = rank.runtime().now() + span;
        while (rank.runtime().now() < end) rank.runtime().yield();
        EXPECT_LT(rank.runtime().now(), end + span / 50);
      }
      rank.root()->barrier();
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(Polling, WhatTimesOutMeanwhileTimesOut) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0)
      while (rank.runtime().now() < 3600s) rank.runtime().yield();
    rank.root()->barrier();
  });
  EXPECT_THAT(ids_of(report), ElementsAre("timed_out"));
}

TEST(Polling, APollThatNeverSucceedsIsADeadlock) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 0)
      for (;;) rank.runtime().yield();
    rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 1, 2));
  EXPECT_EQ(report.virtual_time, Duration(0)) << "nobody looked at the clock";
}

}  // namespace
}  // namespace gang::sim
