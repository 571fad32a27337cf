#include "sim/matching/streams.h"

#include <set>

#include <gtest/gtest.h>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using End = EverySchedule::End;
constexpr auto sum = ReduceOperation::sum;

struct Explored {
  EverySchedule every;
  std::set<Outcome> outcomes;
};

Explored explored(int world_size, const RankProgram& program) {
  Explored all;
  all.every = run_every_schedule(
      {.world_size = world_size, .execution = ExecutionModel::stream_ordered},
      [&](const SimulationOptions& guided) { return run(guided, program); },
      [&](const ExploredRun& ran) {
        all.outcomes.insert(ran.report.outcome);
        return true;
      });
  return all;
}

void expect_not_covered(int world_size, const RankProgram& program) {
  const Explored all = explored(world_size, program);
  EXPECT_EQ(all.every.end, End::unguided);
  EXPECT_EQ(all.every.unguided, Unguided::stream_order);
}

// A thread of each rank passes a value on; the rank itself reduces, once the thread has ended or
// meanwhile.
RankProgram passes_while_reducing(bool joins_first) {
  return [joins_first](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = 0}, {.name = "pair"});
    float passed = 1.0F;
    float reduced = 1.0F;
    const auto thread = rank.runtime().start_thread("stage", [&] {
      if (rank.rank() == 0)
        pair->send(view_of(passed), 1);
      else
        pair->recv(view_of(passed), 0);
    });
    if (joins_first) thread->join();
    rank.root()->all_reduce(view_of(reduced), sum);
    if (!joins_first) thread->join();
  };
}

TEST(Streams, ContextsOfARankLaunchInEveryOrder) {
  const Explored all = explored(2, passes_while_reducing(false));
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.every.classes, 4U);
  EXPECT_EQ(all.outcomes, (std::set{Outcome::completed, Outcome::deadlock}));
  const Explored one_by_one = explored(2, passes_while_reducing(true));
  EXPECT_EQ(one_by_one.every.end, End::all_seen);
  EXPECT_EQ(one_by_one.every.classes, 1U);
}

TEST(Streams, StartedReductionsComeInOneWay) {
  const Explored all = explored(3, [](SimulatedRank& rank) {
    float first = 1.0F;
    float second = 1.0F;
    Work one = rank.root()->start_all_reduce(view_of(first), sum);
    Work other = rank.root()->start_all_reduce(view_of(second), sum);
    one.wait();
    other.wait();
  });
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.every.classes, 1U);
}

// A send behind a started reduction arrives once that has ended.
RankProgram sends_behind_a_reduction(bool from_any) {
  return [from_any](SimulatedRank& rank) {
    float reduced = 1.0F;
    float passed = 1.0F;
    Work work = rank.root()->start_all_reduce(view_of(reduced), sum);
    if (rank.rank() != 0) {
      rank.root()->send(view_of(passed), 0);
    } else {
      for (int source = 1; source < 3; ++source)
        rank.root()->recv(view_of(passed), from_any ? any_rank : source);
    }
    work.wait();
  };
}

TEST(Streams, WhichMessageComesFirstBehindOthersIsNotCovered) {
  const Explored from_named = explored(3, sends_behind_a_reduction(false));
  EXPECT_EQ(from_named.every.end, End::all_seen);
  EXPECT_EQ(from_named.every.classes, 1U);
  expect_not_covered(3, sends_behind_a_reduction(true));
}

TEST(Streams, WhatALookSeesOfOperationsBehindOthersIsNotCovered) {
  expect_not_covered(2, [](SimulatedRank& rank) {
    float first = 1.0F;
    float second = 1.0F;
    Work one = rank.root()->start_all_reduce(view_of(first), sum);
    Work other = rank.root()->start_all_reduce(view_of(second), sum);
    other.wait();
    one.test();  // has ended in each schedule
  });
}

TEST(Streams, WhichOperationsABreakMeetsBehindOthersIsNotCovered) {
  expect_not_covered(2, [](SimulatedRank& rank) {
    const auto other = rank.root()->split({.color = 0}, {.name = "other"});
    float first = 1.0F;
    float second = 1.0F;
    Work one = rank.root()->start_all_reduce(view_of(first), sum);
    Work behind = other->start_all_reduce(view_of(second), sum);
    if (rank.rank() == 1) other->abort();
    one.wait();
  });
}

}  // namespace
}  // namespace gang::sim
