#include "sim/further_runs/every_schedule.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "sim/faults/fault_cases.h"
#include "sim/schedule/interleavings.h"
#include "sim/schedule/step_class.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Runs the program under every schedule, whatever comes of it.
EverySchedule seen_of(const SimulationOptions& options, const RankProgram& program,
                      const std::function<void(const Report&)>& look = {}) {
  return run_every_schedule(
      options, [&](const SimulationOptions& guided) { return run(guided, program); },
      [&](const ExploredRun& ran) {
        if (look) look(ran.report);
        return true;
      });
}

std::uint64_t classes_of(int world_size, const RankProgram& program) {
  const EverySchedule seen = seen_of({.world_size = world_size}, program);
  EXPECT_EQ(seen.end, EverySchedule::End::all_seen);
  return seen.classes;
}

void first_come(SimulatedRank& rank) {
  std::int32_t value = rank.rank();
  if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
  for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
}

TEST(EverySchedule, SendersToOneReceiverComeInEveryOrder) {
  std::uint64_t orders = 1;
  for (int senders = 1; senders <= 6; ++senders) {
    orders *= static_cast<std::uint64_t>(senders);
    EXPECT_EQ(classes_of(senders + 1, first_come), orders) << senders;
  }
}

// Its memory is used again.
TEST(EverySchedule, IsTheSameAfterAnotherOneThatWasStoppedAndWithinOne) {
  run_every_schedule(
      {.world_size = 5}, [](const SimulationOptions& guided) { return run(guided, first_come); },
      [](const ExploredRun&) { return false; });
  std::uint64_t runs = 0;
  seen_of({.world_size = 3}, first_come, [&runs](const Report&) {
    EXPECT_EQ(classes_of(4, first_come), 6U);
    ++runs;
  });
  EXPECT_EQ(runs, 2U);
}

TEST(EverySchedule, TwoReceiversAreIndependent) {
  EXPECT_EQ(classes_of(8,
                       [](SimulatedRank& rank) {
                         std::int32_t value = rank.rank();
                         const int receiver = rank.rank() / 4 * 4;
                         if (rank.rank() != receiver)
                           return rank.root()->send(view_of(value), receiver);
                         for (int i = 1; i < 4; ++i) rank.root()->recv(view_of(value));
                       }),
            36);
}

TEST(EverySchedule, WhatCannotComeOtherwiseIsRunOnce) {
  EXPECT_EQ(classes_of(16,
                       [](SimulatedRank& rank) {
                         Gang& root = *rank.root();
                         const int size = rank.world_size();
                         std::int32_t sent = rank.rank();
                         std::int32_t received = 0;
                         for (int step = 0; step < 3; ++step) {
                           Work work = root.start_send(view_of(sent), (rank.rank() + 1) % size);
                           root.recv(view_of(received), (rank.rank() + size - 1) % size);
                           work.wait();
                           root.all_reduce(view_of(received), ReduceOperation::sum);
                         }
                         const auto gang = root.split({.color = rank.rank() % 2});
                         gang->barrier();
                       }),
            1);
}

TEST(EverySchedule, ThreadsTakeAMutexInEveryOrder) {
  for (const auto& [sections, orders] : {std::pair{1, 2U}, {2, 6U}, {3, 20U}, {4, 70U}})
    EXPECT_EQ(classes_of(1,
                         [sections = sections](SimulatedRank& rank) {
                           Runtime& runtime = rank.runtime();
                           const auto mutex = runtime.make_mutex();
                           const auto body = [&] {
                             for (int i = 0; i < sections; ++i) const std::scoped_lock lock(*mutex);
                           };
                           const auto first = runtime.start_thread("first", body);
                           const auto second = runtime.start_thread("second", body);
                           first->join();
                           second->join();
                         }),
              orders)
        << sections;
}

TEST(EverySchedule, FindsTheOrderThatHangs) {
  int deadlocks = 0;
  const EverySchedule all = seen_of(
      {.world_size = 4},
      [](SimulatedRank& rank) {
        std::int32_t value = 7;  // equal bytes from every rank
        if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
        rank.root()->recv(view_of(value));
        rank.root()->recv(view_of(value), 3);
        rank.root()->recv(view_of(value));
      },
      [&deadlocks](const Report& report) { deadlocks += report.outcome == Outcome::deadlock; });
  EXPECT_EQ(all.end, EverySchedule::End::all_seen);
  EXPECT_GT(deadlocks, 0);
  EXPECT_LT(static_cast<std::uint64_t>(deadlocks), all.classes);
}

// -- Against every interleaving --

std::string outcome_of(const Report& report) {
  std::string outcome(to_string(report.outcome));
  for (const Finding& finding : report.findings) outcome += " " + finding.id;
  return outcome;
}

// Classes of runs, and how they end.
using Ends = std::map<std::uint64_t, std::string>;

Ends ends_of_classes(int world_size, const RankProgram& program) {
  Ends ends;
  const EverySchedule seen = run_every_schedule(
      {.world_size = world_size},
      [&](const SimulationOptions& guided) { return run(guided, program); },
      [&](const ExploredRun& ran) {
        const std::uint64_t step_class = class_of(ran.guide->log());
        EXPECT_TRUE(ends.emplace(step_class, outcome_of(ran.report)).second) << "twice";
        return true;
      });
  EXPECT_EQ(seen.end, EverySchedule::End::all_seen);
  EXPECT_EQ(seen.restarts, 0u);
  return ends;
}

Ends ends_of_interleavings(int world_size, const RankProgram& program) {
  constexpr int most = 200'000;
  Ends ends;
  const Knowledge none;
  SimulationOptions options{.world_size = world_size, .scheduler = SchedulerKind::guided};
  options.guide = std::make_shared<Guide>();
  Interleavings all;
  for (int runs = 0; runs < most; ++runs) {
    options.guide->begin(Beginning(all.beginning()), none);
    const Report report = run(options, program);
    const auto [end, is_new] = ends.emplace(class_of(options.guide->log()), outcome_of(report));
    EXPECT_EQ(end->second, outcome_of(report)) << "one class ends in two ways";
    if (!all.next(options.guide->log())) return ends;
  }
  ADD_FAILURE() << "more than " << most << " interleavings";
  return ends;
}

void expect_complete(int world_size, const RankProgram& program, std::size_t least_classes) {
  const Ends all = ends_of_interleavings(world_size, program);
  EXPECT_EQ(ends_of_classes(world_size, program), all);
  EXPECT_GE(all.size(), least_classes);
}

// Which of them calls first, and whether the other one calls before the first call returns.
TEST(EverySchedule, IsCompleteForThreadsOnOneGang) {
  expect_complete(
      2,
      [](SimulatedRank& rank) {
        const auto body = [&rank] { rank.root()->barrier(); };
        if (rank.rank() == 1) {
          body();
          return body();
        }
        const auto thread = rank.runtime().start_thread("second", body);
        body();
        thread->join();
      },
      4);
}

TEST(EverySchedule, IsCompleteForThreadsOnTheirOwnGangs) {
  expect_complete(
      1,
      [](SimulatedRank& rank) {
        const auto second = rank.root()->split({.color = 0});
        const auto thread = rank.runtime().start_thread("second", [&] { second->barrier(); });
        rank.root()->barrier();
        thread->join();
      },
      1);
}

TEST(EverySchedule, IsCompleteForConditions) {
  expect_complete(
      1,
      [](SimulatedRank& rank) {
        Runtime& runtime = rank.runtime();
        const auto mutex = runtime.make_mutex();
        const auto ready = runtime.make_condition();
        const auto thread = runtime.start_thread("waiter", [&] {
          std::unique_lock lock(*mutex);
          ready->wait(lock);  // lost if the notification came first
        });
        {
          const std::scoped_lock lock(*mutex);
          ready->notify_one();
        }
        thread->join();
      },
      2);
}

TEST(EverySchedule, IsCompleteForMutexesThatAreTried) {
  expect_complete(
      2,
      [](SimulatedRank& rank) {
        if (rank.rank() == 1) return rank.root()->barrier();
        Runtime& runtime = rank.runtime();
        const auto mutex = runtime.make_mutex();
        const auto thread =
            runtime.start_thread("holder", [&] { const std::scoped_lock lock(*mutex); });
        const bool has_it = mutex->try_lock();
        if (has_it) mutex->unlock();
        thread->join();
        if (has_it) rank.root()->barrier();
      },
      2);
}

TEST(EverySchedule, IsCompleteForTestsOfSeveralMembers) {
  expect_complete(
      3,
      [](SimulatedRank& rank) {
        Work work = rank.root()->start_barrier();
        if (rank.rank() != 2 && work.test()) return;
        work.wait();
      },
      4);
}

TEST(EverySchedule, IsCompleteForAborts) {
  expect_complete(
      3,
      [](SimulatedRank& rank) {
        try {
          if (rank.rank() == 2) return rank.root()->abort();
          std::int32_t value = 0;
          if (rank.rank() == 0) return rank.root()->send(view_of(value), 1);
          rank.root()->recv(view_of(value));
        } catch (const GangError&) {
        }
      },
      2);
}

// Whoever ends first breaks what they have in common.
TEST(EverySchedule, IsCompleteForErrorsThatEndSeveralRanks) {
  expect_complete(
      2,
      [](SimulatedRank& rank) {
        const auto all = rank.root()->split({.color = 0});
        std::array<std::int32_t, 2> values{};
        const std::int64_t size = rank.rank() == 0 ? 2 : 1;
        all->all_reduce(TensorView(values.data(), DataType::i32, {size}), ReduceOperation::sum);
      },
      2);
}

// The classes of all schedules of all cases of the plan, and whether every fault was covered.
std::uint64_t classes_of_cases(int world_size, const FaultPlan& plan, const RankProgram& program) {
  FaultCases cases(plan, world_size);
  std::uint64_t classes = 0;
  while (const std::optional<FaultPlan> drawn = cases.next()) {
    std::vector<SeenFault> seen(drawn->faults.size());
    const EverySchedule every =
        seen_of({.world_size = world_size, .faults = std::make_shared<const FaultPlan>(*drawn)},
                program, [&](const Report& report) {
                  for (const FiredFault& fired : report.faults)
                    seen[fired.fault] = {true, fired.witnesses};
                });
    EXPECT_EQ(every.end, EverySchedule::End::all_seen) << to_string(drawn->faults.front());
    const bool happened = std::ranges::all_of(seen, &SeenFault::has_fired);
    if (happened) classes += every.classes;
    cases.learn(seen);
  }
  return classes;
}

// The receive is posted, tested in vain and waited for, the message sent, the gang aborted: in each
// order in which one sees the other. A message that meets its receive at once does not come after
// it for that: it may be sent before an abort that the receive comes after.
TEST(EverySchedule, AnAbortComesBetweenAnyTwoCalls) {
  const auto program = [](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::int32_t value = 0;
    if (rank.rank() == 0) return root.abort();
    if (rank.rank() == 2) return root.send(view_of(value), 1);
    Work work = root.start_recv(view_of(value), 2);
    if (!work.test()) work.wait();
  };
  EXPECT_EQ(classes_of(3, program), 7U);
}

// Before each barrier and after it; and inside, where any of the others may get the error.
TEST(EverySchedule, ACrashAnywhereInALoopOfBarriersStrikesAtEachDistinguishablePlace) {
  for (const int ranks : {2, 3, 4})
    for (const int barriers : {1, 2, 3}) {
      const FaultPlan plan{.faults = {{.kind = FaultKind::crash,
                                       .chance = 0.5,
                                       .trigger = {.operation = Between<std::uint64_t>(0, 1000),
                                                   .moment = FaultMoment::any},
                                       .notice = Duration(std::chrono::seconds(1))}}};
      const auto places = static_cast<std::uint64_t>(ranks * barriers);
      EXPECT_EQ(classes_of_cases(ranks, plan,
                                 [barriers](SimulatedRank& rank) {
                                   for (int i = 0; i < barriers; ++i) rank.root()->barrier();
                                 }),
                1 + places * (2 + (std::uint64_t{1} << (ranks - 1))))
          << ranks << " ranks, " << barriers << " barriers";
    }
}

// Whoever is left agrees on a gang, in whatever order they come.
TEST(EverySchedule, SurvivorsShrinkInOneWay) {
  const auto plan = std::make_shared<const FaultPlan>(
      FaultPlan{.faults = {{.kind = FaultKind::crash,
                            .ranks = {1},
                            .trigger = {.operation = Between<std::uint64_t>(0)},
                            .notice = Duration(std::chrono::seconds(1))}}});
  const EverySchedule seen = seen_of(
      {.world_size = 4, .faults = plan},
      [](SimulatedRank& rank) {
        try {
          rank.root()->barrier();
        } catch (const GangError&) {
          rank.root()->shrink({.grace = std::chrono::hours(1)})->barrier();
        }
      },
      [](const Report& report) { EXPECT_TRUE(report.holds()) << to_string(report); });
  EXPECT_EQ(seen.end, EverySchedule::End::all_seen);
  EXPECT_EQ(seen.classes, 1U);
}

// Who looks whether there was a fault may do so before it or after it.
TEST(EverySchedule, WhoAsksForFaultsDependsOnThem) {
  const auto plan = std::make_shared<const FaultPlan>(
      FaultPlan{.faults = {{.kind = FaultKind::exit,
                            .ranks = {0},
                            .trigger = {.operation = Between<std::uint64_t>(0)}}}});
  std::map<bool, int> seen_faults;
  const EverySchedule seen = seen_of({.world_size = 2, .faults = plan}, [&](SimulatedRank& rank) {
    if (rank.rank() == 0) return rank.root()->barrier();
    ++seen_faults[rank.faults_have_fired()];
  });
  EXPECT_EQ(seen.end, EverySchedule::End::all_seen);
  EXPECT_EQ(seen.classes, 2U);
  EXPECT_EQ(seen_faults, (std::map<bool, int>{{false, 1}, {true, 1}}));
}

// std::exit destroys objects of its thread, the youngest first, and a thread keeps memory from
// exploration to exploration. Here that is younger than the first run.
TEST(EverySchedule, GoesOnInAThreadWhoseRanksHaveExited) {
  std::jthread([] {
    for (int i = 0; i < 3; ++i) {
      run(2, [](SimulatedRank&) { std::exit(0); });
      EXPECT_EQ(seen_of({.world_size = 4}, first_come).classes, 6U);
    }
  });
}

}  // namespace
}  // namespace gang::sim
