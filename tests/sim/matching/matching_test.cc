#include "sim/matching/matching.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Matching, TheKthCallMeetsTheKthCall) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::vector<std::int32_t> values(10, rank.rank());
    std::vector<Work> works;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(i) * 100 + rank.rank();
      works.push_back(rank.root()->start_all_reduce(view_of(values[i]), ReduceOperation::max));
      // Each runs ahead by another number of operations.
      if (static_cast<int>(i) % (rank.rank() + 1) == 0) Work::wait_all(works);
    }
    Work::wait_all(works);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], static_cast<std::int32_t>(i) * 100 + 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Matching, ABlockingCallMatchesAStartedOne) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 1;
    if (rank.rank() == 0)
      rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
    else
      rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum).wait();
    EXPECT_EQ(value, 2);
  });
  EXPECT_TRUE(report.holds());
}

// Little data is kept where the calls meet: of 5 numbers, no longer.
TEST(Matching, MembersThatBlockAndMembersThatWaitGetTheSame) {
  for (const std::size_t count : {1, 4, 5}) {
    const Report report = run(3, [count](SimulatedRank& rank) {
      Gang& gang = *rank.root();
      const CallOptions how{.mode = rank.rank() == 1 ? CallMode::blocking : CallMode::started};
      const std::int32_t own = rank.rank() + 1;
      std::vector<std::int32_t> sum(count, own);
      std::vector<std::int32_t> reduced(count, own);
      std::vector<std::int32_t> sent(count, own);
      std::vector<Work> works;
      works.push_back(gang.start_all_reduce(view(sum), ReduceOperation::sum, how));
      works.push_back(gang.start_reduce(view(reduced), ReduceOperation::sum, 2, how));
      works.push_back(gang.start_broadcast(view(sent), 1, how));
      works.push_back(gang.start_barrier(how));
      Work::wait_all(works);
      EXPECT_THAT(sum, testing::Each(6));
      EXPECT_THAT(reduced, testing::Each(rank.rank() == 2 ? 6 : own));
      EXPECT_THAT(sent, testing::Each(2));
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

// Also of a program that writes too early, which then is not found: one program, one result.
TEST(Matching, WhatIsBroughtIsTheSameWhoeverWatches) {
  for (const bool is_watched : {false, true}) {
    const Report report = run({.world_size = 2,
                               .buffer_guard = false,
                               .timeline = is_watched ? Recording::on : Recording::off},
                              [](SimulatedRank& rank) {
                                std::int32_t value = 1;
                                std::int32_t sum = 0;
                                Work work = rank.root()->start_all_reduce(
                                    view_of(sum), view_of(value), ReduceOperation::sum);
                                value = 100;
                                work.wait();
                                EXPECT_EQ(sum, 2);
                              });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(Matching, OperationsOfOneGangCompleteInOrder) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t first = 1;
    std::int32_t second = 1;
    Work one = rank.root()->start_all_reduce(view_of(first), ReduceOperation::sum);
    Work two = rank.root()->start_all_reduce(view_of(second), ReduceOperation::sum);
    two.wait();
    EXPECT_TRUE(one.test());
    EXPECT_EQ(first, 2);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Matching, CollectivesAreNumberedFromZeroOnEveryGang) {
  const Report report = run({.world_size = 1, .trace = Recording::on}, [](SimulatedRank& rank) {
    rank.root()->barrier();
    const auto child = child_of(*rank.root(), {0});
    rank.root()->barrier();
    child->barrier();
  });
  std::vector<std::string> posts;
  for (const TraceEvent& event : report.trace.events)
    if (event.kind == TraceEventKind::post)
      posts.push_back(report.trace.gangs[event.gang] + " " + std::to_string(event.sequence_number));
  EXPECT_THAT(posts, ElementsAre("root[0] 0", "root[0] 1", "root[0] 2", "root.0[0] 0"));
}

// Two gangs of the same ranks, called in different orders, without blocking in between.
Report crossed_starts(ExecutionModel execution) {
  return run({.world_size = 2, .execution = execution}, [](SimulatedRank& rank) {
    const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
    const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
    Gang& first = rank.rank() == 0 ? *a : *b;
    Gang& second = rank.rank() == 0 ? *b : *a;
    std::vector<Work> works;
    works.push_back(first.start_barrier());
    works.push_back(second.start_barrier());
    Work::wait_all(works);
  });
}

TEST(ExecutionModels, IndependentGangsDoNotWaitForEachOther) {
  const Report report = crossed_starts(ExecutionModel::independent);
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(ExecutionModels, AStreamRunsARanksOperationsInTheOrderOfTheirLaunch) {
  const Report report = crossed_starts(ExecutionModel::stream_ordered);
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(blocked_ranks(report), ElementsAre(0, 1));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
}

TEST(ExecutionModels, AStreamContinuesWithTheNextLaunch) {
  const Report report =
      run({.world_size = 3, .execution = ExecutionModel::stream_ordered}, [](SimulatedRank& rank) {
        const auto pair = rank.root()->split({.color = rank.rank() / 2});
        std::vector<std::int32_t> values(20, 1);
        std::vector<Work> works;
        for (std::int32_t& value : values) {
          works.push_back(rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum));
          works.push_back(pair->start_barrier());
        }
        Work::wait_all(works);
        EXPECT_EQ(values, std::vector<std::int32_t>(20, 3));
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(ExecutionModels, BreakingAGangEndsWhatIsLaunchedOnItToo) {
  const Report report =
      run({.world_size = 2, .execution = ExecutionModel::stream_ordered}, [](SimulatedRank& rank) {
        if (rank.rank() == 1) {
          rank.runtime().sleep_for(1ms);
          rank.root()->abort();
          return;
        }
        std::vector<Work> works;
        for (int i = 0; i < 3; ++i) works.push_back(rank.root()->start_barrier());
        for (Work& work : works) {
          const auto error = gang_error_of([&work] { work.wait(); });
          ASSERT_TRUE(error);
          EXPECT_EQ(error->kind(), GangErrorKind::aborted);
        }
      });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(ExecutionModels, BreakingAGangEndsWhatWaitsOnAStreamBehindAnotherGang) {
  const Report report =
      run({.world_size = 3, .execution = ExecutionModel::stream_ordered, .step_limit = 10'000},
          [](SimulatedRank& rank) {
            const auto sound = child_of(*rank.root(), {0, 1});
            const auto broken = child_of(*rank.root(), {0, 2});
            if (rank.rank() == 0) {
              Work ahead = sound->start_barrier();
              Work behind = broken->start_barrier();
              EXPECT_TRUE(gang_error_of([&behind] { behind.wait(); }));
              EXPECT_EQ(rank.runtime().now(), 1ms);
              return ahead.wait();
            }
            rank.runtime().sleep_for(rank.rank() == 1 ? 2ms : 1ms);
            rank.rank() == 1 ? sound->barrier() : broken->abort();
          });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(Matching, ErrorsOfASubgroupSpeakOfRanksOfTheRoot) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const auto pair = child_of(*rank.root(), {1, 2});
    if (rank.rank() == 0) return;
    if (rank.rank() == 2) {
      rank.runtime().sleep_for(1ms);
      return pair->abort();
    }
    std::int32_t value = 0;
    const auto error = gang_error_of([&] { pair->broadcast(view_of(value), 1); });
    ASSERT_TRUE(error);
    EXPECT_STREQ(error->what(),
                 "rank 1 failed in broadcast #0 i32[] from rank 2 on root.0[1,2] (aborted): "
                 "rank 2 aborted the gang");
    EXPECT_EQ(error->rank(), 0);
    EXPECT_EQ(error->operation().peer, 1);
  });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST(Matching, WhatARankWroteBeforeIsVisibleToAllThatTheOperationCompletesOn) {
  std::vector<int> written(4, 0);
  const Report report = run(4, [&written](SimulatedRank& rank) {
    written[static_cast<std::size_t>(rank.rank())] = rank.rank() + 1;
    rank.root()->barrier();
    EXPECT_THAT(written, ElementsAre(1, 2, 3, 4));
  });
  EXPECT_TRUE(report.holds());
}

TEST(Matching, CountsOperationsAndGangs) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier();
    rank.root()->split({.color = rank.rank() % 2})->barrier();
  });
  EXPECT_EQ(report.counts.rank_operations, 12U);
  EXPECT_EQ(report.counts.completed_operations, 4U);
  EXPECT_EQ(report.counts.gangs, 3U);
}

}  // namespace
}  // namespace gang::sim
