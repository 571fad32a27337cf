#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using End = EverySchedule::End;

struct SeenRuns {
  EverySchedule every;
  std::set<Outcome> outcomes;
  int without_guide = 0;
};

SeenRuns runs_of(const SimulationOptions& options, const RankProgram& program) {
  SeenRuns seen;
  seen.every = run_every_schedule(
      options, [&](const SimulationOptions& again) { return run(again, program); },
      [&](const ExploredRun& ran) {
        seen.outcomes.insert(ran.report.outcome);
        if (ran.guide == nullptr) ++seen.without_guide;
        return true;
      });
  return seen;
}

void gather_from_any(SimulatedRank& rank) {
  std::int32_t value = rank.rank();
  if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
  for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
}

TEST(EveryScheduleOverGloo, SendersToOneReceiverComeInEveryOrder) {
  std::uint64_t orders = 1;
  for (int senders = 1; senders <= 5; ++senders) {
    orders *= static_cast<std::uint64_t>(senders);
    const SeenRuns seen =
        runs_of({.world_size = senders + 1, .backend = SimulatedBackend::gloo}, gather_from_any);
    EXPECT_EQ(seen.every.end, End::all_seen);
    EXPECT_EQ(seen.every.classes, orders);
  }
}

TEST(EveryScheduleOverGloo, TheDecisiveChoiceNamesTheReceiveAndBothSends) {
  const EverySchedule every = run_every_schedule(
      {.world_size = 3, .backend = SimulatedBackend::gloo},
      [](const SimulationOptions& again) {
        return run(again, [](SimulatedRank& rank) {
          std::int32_t value = rank.rank();
          if (rank.rank() != 0)
            return rank.root()->send(view_of(value), 0, 0, {}, CallSite::at("send", 1));
          rank.root()->recv(view_of(value), any_rank, 0, {}, CallSite::at("receive", 2));
          if (value == 2) throw std::runtime_error("rank 2 was first");
          rank.root()->recv(view_of(value));
        });
      },
      [](const ExploredRun& ran) { return ran.report.holds(); });
  ASSERT_TRUE(every.decisive && every.decisive->receive);
  EXPECT_EQ(every.decisive->receive->site.line(), 2U);
  EXPECT_EQ(every.decisive->receive->rank, 0);
  EXPECT_EQ(every.decisive->first.rank + every.decisive->second.rank, 3);
  EXPECT_EQ(every.decisive->first.site.line(), 1U);
  EXPECT_EQ(every.holds_otherwise, true);
}

// Which of several contexts was there at once is not noted.
TEST(EveryScheduleOverGloo, ThreadsOnOneGangAreNotCovered) {
  const SeenRuns seen =
      runs_of({.world_size = 2, .backend = SimulatedBackend::gloo}, [](SimulatedRank& rank) {
        const auto gang = rank.root();
        std::int32_t values[] = {1, 2};
        if (rank.rank() == 1) {
          for (std::int32_t& value : values) gang->recv(view_of(value), 0);
          return;
        }
        const auto thread =
            rank.runtime().start_thread("sender", [&] { gang->send(view_of(values[0]), 1); });
        gang->send(view_of(values[1]), 1);
        thread->join();
      });
  EXPECT_EQ(seen.every.end, End::unguided);
  EXPECT_EQ(seen.every.unguided, Unguided::threads_on_gang);
}

class EveryScheduleOver : public testing::TestWithParam<SimulatedBackend> {
 protected:
  SeenRuns runs_of(int world_size, const RankProgram& program) const {
    return sim::runs_of({.world_size = world_size, .backend = GetParam()}, program);
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, EveryScheduleOver,
                         testing::Values(SimulatedBackend::gloo, SimulatedBackend::nccl));

TEST_P(EveryScheduleOver, OneRunIsAsAnyOtherWhereNobodyLooks) {
  const SeenRuns seen = runs_of(3, [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    std::int32_t first = 1;
    std::int32_t second = 1;
    Work on_pair = pair->start_all_reduce(view_of(first), ReduceOperation::sum);
    Work on_all = rank.root()->start_all_reduce(view_of(second), ReduceOperation::sum);
    on_pair.wait();
    on_all.wait();
    rank.root()->barrier();
  });
  EXPECT_EQ(seen.every.end, End::all_seen);
  EXPECT_EQ(seen.every.classes, 1U);
  EXPECT_THAT(seen.outcomes, testing::ElementsAre(Outcome::completed));
}

// What `look` tells rank 0 of a barrier to which rank 1 comes after 1 ms.
std::set<bool> seen_of_barrier(const SimulationOptions& options, bool (*look)(Work&)) {
  std::set<bool> seen;
  const SeenRuns runs = sim::runs_of(options, [&seen, look](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(std::chrono::milliseconds(1));
      return rank.root()->barrier();
    }
    Work work = rank.root()->start_barrier();
    seen.insert(look(work));
    work.wait();
  });
  EXPECT_EQ(runs.every.end, End::all_seen);
  EXPECT_THAT(runs.outcomes, testing::ElementsAre(Outcome::completed));
  return seen;
}

TEST_P(EveryScheduleOver, WhoLooksSeesTheEndOrNot) {
  using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
  for (const LaunchOrder order : {LaunchOrder::host, LaunchOrder::any}) {
    const SimulationOptions options{
        .world_size = 2, .backend = GetParam(), .nccl = {.order = order}};
    const auto seen_in_time = [&options](bool (*look)(Work&)) {
      return seen_of_barrier(options, look);
    };
    // In the instant in which the other rank comes, the wait ends by itself.
    EXPECT_EQ(seen_in_time([](Work& work) { return work.wait(1ms); }),
              (std::set<bool>{false, true}));
    EXPECT_EQ(seen_in_time([](Work& work) { return work.wait(2ms); }), std::set<bool>{true});
    EXPECT_EQ(seen_in_time([](Work& work) { return work.wait(500us); }), std::set<bool>{false});
  }
}

TEST_P(EveryScheduleOver, ATestSeesTheEndOrNot) {
  for (const LaunchOrder order : {LaunchOrder::host, LaunchOrder::any}) {
    std::set<std::string> seen;
    const SeenRuns runs =
        sim::runs_of({.world_size = 2, .backend = GetParam(), .nccl = {.order = order}},
                     [&seen](SimulatedRank& rank) {
                       Work work = rank.root()->start_barrier();
                       if (rank.rank() == 1) return work.wait();
                       std::string tests;
                       while (tests.size() < 3 && !work.test()) tests += '-';
                       seen.insert(tests);
                       work.wait();
                     });
    EXPECT_EQ(runs.every.end, End::all_seen);
    EXPECT_THAT(seen, testing::ElementsAre("", "-", "--", "---"));
  }
}

TEST_P(EveryScheduleOver, WaitAnySeesWhatHasEndedFirst) {
  std::set<std::size_t> seen;
  const SeenRuns runs = runs_of(3, [&seen](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    std::int32_t other = 0;
    Work works[] = {rank.root()->start_recv(view_of(value), 1),
                    rank.root()->start_recv(view_of(other), 2)};
    const std::size_t first = Work::wait_any(works);
    seen.insert(first);
    works[1 - first].wait();
  });
  EXPECT_EQ(runs.every.end, End::all_seen);
  EXPECT_THAT(seen, testing::ElementsAre(0U, 1U));
}

TEST_P(EveryScheduleOver, LocksOfAProgramAreTakenInEveryOrder) {
  const SeenRuns seen = runs_of(2, [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    const auto use = [&mutex] { const std::unique_lock<RuntimeMutex> lock(*mutex); };
    rank.root()->barrier();
    const auto thread = rank.runtime().start_thread("other", use);
    use();
    thread->join();
    rank.root()->barrier();
  });
  EXPECT_EQ(seen.every.end, End::all_seen);
  EXPECT_EQ(seen.every.classes, 4U);  // two orders on each of two ranks
}

TEST_P(EveryScheduleOver, UnderFaultsOneRunIsMadeWithoutAGuide) {
  SimulationOptions options{.world_size = 2, .backend = GetParam()};
  Fault fault{.kind = FaultKind::slow, .ranks = {0}};
  fault.delay = Duration(std::chrono::seconds(1));
  options.faults = std::make_shared<const FaultPlan>(FaultPlan{.faults = {fault}});
  const SeenRuns seen = sim::runs_of(options, [](SimulatedRank& rank) { rank.root()->barrier(); });
  EXPECT_EQ(seen.without_guide, 1);
  EXPECT_EQ(seen.every.end, End::unguided);
  EXPECT_FALSE(can_be_guided(options));
}

// Each of two contexts of a rank launches on its own gang: if they come in another order than those
// of the peer, each device waits for the other one.
TEST(EveryScheduleOverNccl, ThreadsOfARankLaunchInEitherOrder) {
  const SeenRuns seen =
      runs_of({.world_size = 2, .backend = SimulatedBackend::nccl}, [](SimulatedRank& rank) {
        const auto first = rank.root()->split({.color = 0}, {.name = "first"});
        const auto second = rank.root()->split({.color = 0}, {.name = "second"});
        const auto thread = rank.runtime().start_thread("other", [&first] { first->barrier(); });
        second->barrier();
        thread->join();
      });
  EXPECT_EQ(seen.every.end, End::all_seen);
  EXPECT_THAT(seen.outcomes, testing::ElementsAre(Outcome::completed, Outcome::deadlock));
}

// On each of two ranks, operations on as many gangs, whose kernels the device starts in any order.
SeenRuns runs_in_any_order(int gangs, int resident = 1) {
  return runs_of({.world_size = 2,
                  .backend = SimulatedBackend::nccl,
                  .nccl = {.resident = resident, .order = LaunchOrder::any}},
                 [gangs](SimulatedRank& rank) {
                   std::vector<std::shared_ptr<Gang>> made;
                   for (int i = 0; i < gangs; ++i) made.push_back(rank.root()->split({.color = 0}));
                   std::vector<Work> works;
                   for (const auto& gang : made) works.push_back(gang->start_barrier());
                   for (Work& work : works) work.wait();
                 });
}

TEST(EveryScheduleOverNccl, DevicesStartWhatIsReadyInEveryOrder) {
  const SeenRuns of_two = runs_in_any_order(2);
  EXPECT_EQ(of_two.every.end, End::all_seen);
  EXPECT_EQ(of_two.every.classes, 4U);
  EXPECT_THAT(of_two.outcomes, testing::ElementsAre(Outcome::completed, Outcome::deadlock));
  // Both start with the same of three (3), then either of two (4); or with different ones (6).
  EXPECT_EQ(runs_in_any_order(3).every.classes, 18U);
  // Two of two can always run.
  EXPECT_THAT(runs_in_any_order(2, 2).outcomes, testing::ElementsAre(Outcome::completed));
  const SeenRuns of_one = runs_in_any_order(1);
  EXPECT_EQ(of_one.every.classes, 1U);
  EXPECT_EQ(of_one.every.end, End::all_seen);
}

TEST(EveryScheduleOverNccl, TheDecisivePickNamesBothOperations) {
  const SimulationOptions options{
      .world_size = 2, .backend = SimulatedBackend::nccl, .nccl = {.order = LaunchOrder::any}};
  const EverySchedule every = run_every_schedule(
      options,
      [](const SimulationOptions& again) {
        return run(again, [](SimulatedRank& rank) {
          const auto first = rank.root()->split({.color = 0});
          const auto second = rank.root()->split({.color = 0});
          Work one = first->start_barrier({}, CallSite::at("one", 1));
          Work other = second->start_barrier({}, CallSite::at("other", 2));
          one.wait();
          other.wait();
        });
      },
      [](const ExploredRun& ran) { return ran.report.holds(); });
  EXPECT_EQ(every.end, End::stopped);
  ASSERT_TRUE(every.decisive);
  EXPECT_EQ(every.decisive->first.kind, AccessKind::device);
  EXPECT_EQ(every.decisive->first.rank, every.decisive->second.rank);
  EXPECT_EQ(every.decisive->first.site.line(), 1U);
  EXPECT_EQ(every.decisive->second.site.line(), 2U);
  EXPECT_EQ(every.holds_otherwise, true);
}

// A device goes on while its host sleeps.
TEST(NcclInAnyOrder, WhatIsReadyStartsWhenNoHostCanGoOn) {
  SimulationOptions options{
      .world_size = 2, .backend = SimulatedBackend::nccl, .nccl = {.order = LaunchOrder::any}};
  options.timeout = std::chrono::seconds(1);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    options.seed = seed;
    options.scheduler = SchedulerKind::random;
    const Report report = run(options, [](SimulatedRank& rank) {
      Work work = rank.root()->start_barrier();
      if (rank.rank() == 0) rank.runtime().sleep_for(std::chrono::seconds(5));
      work.wait();
      if (rank.rank() == 1) {
        EXPECT_EQ(rank.runtime().now(), TimePoint(0));
      }
    });
    EXPECT_EQ(report.outcome, Outcome::completed);
  }
}

}  // namespace
}  // namespace gang::sim
