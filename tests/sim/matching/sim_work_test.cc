#include "sim/matching/sim_work.h"

#include "sim/state/world.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(SimWork, AWaitWithATimeoutGivesUpInTimeAndTheOperationContinues) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(10ms);
      return rank.root()->barrier();
    }
    Work work = rank.root()->start_barrier();
    EXPECT_FALSE(work.wait(4ms));
    EXPECT_EQ(rank.runtime().now(), 4ms);
    EXPECT_FALSE(work.wait(3ms));
    EXPECT_EQ(rank.runtime().now(), 7ms);
    EXPECT_TRUE(work.wait(5ms));
    EXPECT_EQ(rank.runtime().now(), 10ms);
    EXPECT_TRUE(work.wait(1ms));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimWork, ATestThatFailsLetsTheOthersGoFirst) {
  const Report report = run(2, [](SimulatedRank& rank) {
    Work work = rank.root()->start_barrier();
    int tests = 0;
    while (!work.test()) ++tests;
    EXPECT_LE(tests, 1);
    EXPECT_TRUE(work.test());
  });
  EXPECT_TRUE(report.holds());
}

TEST(SimWork, WaitAnyGivesTheFirstThatIsComplete) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::array<std::int32_t, 2> values{};
    if (rank.rank() == 1) rank.runtime().sleep_for(2ms);
    if (rank.rank() == 2) rank.runtime().sleep_for(1ms);
    if (rank.rank() != 0) return rank.root()->send(view_of(values[0]), 0);
    std::vector<Work> works;
    works.push_back(rank.root()->start_recv(view_of(values[0]), 1));
    works.push_back(rank.root()->start_recv(view_of(values[1]), 2));
    EXPECT_EQ(Work::wait_any(works), 1U);
    EXPECT_EQ(rank.runtime().now(), 1ms);
    works[1].wait();
    EXPECT_EQ(works[1].received().source_rank, 2);
    works.pop_back();
    EXPECT_EQ(Work::wait_any(works), 0U);
    EXPECT_EQ(rank.runtime().now(), 2ms);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimWork, WaitAnyGivesAFailedOneWhoseWaitThenThrows) {
  run(2, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    if (rank.rank() == 1) {
      child->abort();
      return rank.root()->barrier();
    }
    std::vector<Work> works;
    works.push_back(rank.root()->start_barrier());
    try {
      works.push_back(child->start_barrier());
      EXPECT_EQ(Work::wait_any(works), 1U);
      EXPECT_TRUE(gang_error_of([&works] { works[1].wait(); }));
    } catch (const GangError& error) {
      EXPECT_EQ(error.kind(), GangErrorKind::aborted);
    }
    works[0].wait();
  });
}

TEST(SimWork, WaitAllThrowsTheFirstErrorAfterAllHaveEnded) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    std::vector<Work> works;
    works.push_back(child->start_barrier());
    works.push_back(rank.root()->start_barrier());
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(1ms);
      return Work::wait_all(works);
    }
    Work::wait_all(works);
    EXPECT_TRUE(works[1].test());
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimWork, AFailedOneThrowsEveryTimeItIsAsked) {
  run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(1ms);
      return rank.root()->abort();
    }
    Work work = rank.root()->start_barrier();
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(gang_error_of([&work] { work.wait(); }));
      EXPECT_TRUE(gang_error_of([&work] { work.test(); }));
    }
  });
}

TEST(SimWork, DroppingItIsAFindingAndTheBuffersAreSafe) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(1ms);
    std::array<std::int32_t, 64> values{};
    Work work = rank.root()->start_all_reduce(view(values), ReduceOperation::sum);
    if (rank.rank() == 1) work.wait();
  });
  EXPECT_EQ(report.outcome, Outcome::completed);
  ASSERT_THAT(ids_of(report), ElementsAre("unwaited_work"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_THAT(to_string(report.findings[0].call), HasSubstr("all_reduce #0"));
  EXPECT_THAT(to_string(report.findings[0].location), HasSubstr("sim_work_test.cc:"));
}

TEST(SimWork, DroppingACompletedWorkThatWasNeverObservedIsAFindingToo) {
  const Report report = run(1, [](SimulatedRank& rank) { rank.root()->start_barrier(); });
  EXPECT_THAT(ids_of(report), ElementsAre("unwaited_work"));
}

TEST(SimWork, DroppingAFailedOneIsNotAnotherFinding) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("gone");
    Work first = rank.root()->start_barrier();
    Work second = rank.root()->start_barrier();
    EXPECT_TRUE(gang_error_of([&first] { first.wait(); }));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
}

TEST(SimWork, DroppingItWhileAnExceptionLeavesTheProgramIsAConsequence) {
  const Report report = run(2, [](SimulatedRank& rank) {
    Work work = rank.root()->start_barrier();
    if (rank.rank() == 0) {
      Work never = rank.root()->start_barrier();
      throw std::runtime_error("gone");
    }
    work.wait();
    rank.root()->barrier();
    rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
}

TEST(SimWork, OneThatOutlivesItsProgramIsAFinding) {
  std::vector<Work> kept(2);
  std::vector<std::array<std::int32_t, 64>> buffers(2);
  const Report report = run(2, [&](SimulatedRank& rank) {
    const auto index = static_cast<std::size_t>(rank.rank());
    kept[index] = rank.root()->start_all_reduce(view(buffers[index]), ReduceOperation::sum);
    if (rank.rank() == 1) kept[index].wait();
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, "unwaited_work");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_EQ(report.findings.size(), 1U) << to_string(report);
}

TEST(SimWork, AnUnfinishedOneThatOutlivesItsProgramIsNeverWrittenTo) {
  std::vector<Work> kept(1);
  const Report report = run(2, [&kept](SimulatedRank& rank) {
    std::array<std::int32_t, 64> values{};
    if (rank.rank() == 0) {
      kept[0] = rank.root()->start_all_reduce(view(values), ReduceOperation::sum);
      return;
    }
    rank.runtime().sleep_for(1ms);
    const auto error =
        gang_error_of([&] { rank.root()->all_reduce(view(values), ReduceOperation::sum); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(0));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("unwaited_work"));
}

TEST(SimWork, LivesOnWithoutItsSimulation) {
  Work kept;
  run(1, [&kept](SimulatedRank& rank) { kept = rank.root()->start_barrier(); });
  EXPECT_THROW(kept.wait(), InvalidOperation);
}

TEST(SimWork, KeepsWhatStartHasBorrowed) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::array<std::int32_t, 2> outputs{};
    std::int32_t own = 10 + rank.rank();
    Work work = [&] {
      // List and label are gone when this returns; the tensors' memory is not.
      const std::vector<TensorView> views = {view_of(outputs[0]), view_of(outputs[1])};
      const std::string label(100, 'l');
      return rank.root()->start_all_gather_to_list(views, view_of(own), {.label = label});
    }();
    if (rank.rank() == 1) rank.runtime().sleep_for(1ms);
    work.wait();
    EXPECT_THAT(outputs, ElementsAre(10, 11));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SimWork, DetachingItIsNoFindingAndTheOperationGoesOn) {
  for (const ContextKind context : deterministic_contexts()) {
    std::array<int, 2> got{};
    const Report report = run({.world_size = 2, .context = context}, [&got](SimulatedRank& rank) {
      int value = rank.rank() + 7;
      if (rank.rank() == 0) {
        rank.root()->start_send(view_of(value), 1).detach();
        rank.root()->barrier();
      } else {
        rank.root()->barrier();
        rank.root()->recv(view_of(got[0]), 0);
      }
      rank.root()->barrier();
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
    EXPECT_EQ(got[0], 7);
  }
}

TEST(SimWork, ManyDetachedOnesAreNotKeptOnceTheyHaveEnded) {
  std::size_t kept = 0;
  const Report report = run(2, [&kept](SimulatedRank& rank) {
    for (int i = 0; i < 100; ++i) {
      rank.root()->start_barrier().detach();
      rank.root()->barrier();
    }
    if (rank.rank() == 0) kept = rank.world().rank(0).rare().detached.size();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_LE(kept, 2U);
}

TEST(SimWork, ADetachedOneThatItsProgramOutlivesNotBreaksTheGang) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::array<std::int32_t, 64> values{};
    if (rank.rank() == 0) {
      rank.root()->start_all_reduce(view(values), ReduceOperation::sum).detach();
      return;
    }
    rank.runtime().sleep_for(1ms);
    EXPECT_TRUE(
        gang_error_of([&] { rank.root()->all_reduce(view(values), ReduceOperation::sum); }));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// What two ranks come to that start three operations, and then do as they are told with the works.
template <typename Use>
std::vector<std::string> ids_of_uses(ExecutionModel execution, const Use& use) {
  const SimulationOptions options{.world_size = 2, .execution = execution, .buffer_guard = true};
  return ids_of(run(options, [&](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::vector<std::vector<float>> data(3, std::vector<float>(1U << 14U, 1));  // whole pages
    std::vector<Work> works;
    for (std::vector<float>& values : data)
      works.push_back(root.start_all_reduce(view(values), ReduceOperation::sum));
    use(root, works);
    if (execution == ExecutionModel::stream_ordered) {
      EXPECT_THAT(data[0], testing::Each(2));  // may be read: its operation has ended
    }
    works.clear();
    for (const std::vector<float>& values : data) EXPECT_THAT(values, testing::Each(2));
  }));
}

// As with NCCL, where whoever has waited for an operation has waited for those before it.
TEST(SimWork, OnAStreamWhatComesBeforeAWaitIsNotDropped) {
  const auto last = [](Gang&, std::vector<Work>& works) { works.back().wait(); };
  const auto middle = [](Gang&, std::vector<Work>& works) { works[1].wait(); };
  const auto blocking = [](Gang& root, std::vector<Work>&) { root.barrier(); };
  EXPECT_THAT(ids_of_uses(ExecutionModel::stream_ordered, last), IsEmpty());
  EXPECT_THAT(ids_of_uses(ExecutionModel::stream_ordered, blocking), IsEmpty());
  EXPECT_THAT(ids_of_uses(ExecutionModel::stream_ordered, middle), ElementsAre("unwaited_work"));
  EXPECT_THAT(ids_of_uses(ExecutionModel::independent, last), ElementsAre("unwaited_work"));
  EXPECT_THAT(ids_of_uses(ExecutionModel::independent, blocking), ElementsAre("unwaited_work"));
}

TEST(SimWork, OnAStreamWhatComesBeforeAWaitMayOutliveItsProgram) {
  for (const bool waits_for_last : {false, true}) {
    const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
    std::vector<std::vector<Work>> works(2);
    const Report report = run(options, [&](SimulatedRank& rank) {
      auto& own = works[static_cast<std::size_t>(rank.rank())];
      for (int i = 0; i < 2; ++i) own.push_back(rank.root()->start_barrier());
      own[waits_for_last ? 1 : 0].wait();
    });
    EXPECT_EQ(report.holds(), waits_for_last) << to_string(report);
  }
}

TEST(SimWork, IsDroppedQuietlyWhereThatIsIgnored) {
  const SimulationOptions options{.world_size = 2, .ignored_leaks = {.unwaited_work = true}};
  int summed = 0;
  const Report report = run(options, [&summed](SimulatedRank& rank) {
    int value = rank.rank() + 1;
    {
      const Work dropped = rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum);
    }
    if (rank.rank() == 0) summed = value;
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(summed, 3) << "it is waited for all the same";
}

}  // namespace
}  // namespace gang::sim
