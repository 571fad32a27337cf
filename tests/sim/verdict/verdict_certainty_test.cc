#include "sim/verdict/verdict_certainty.h"

#include <functional>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(VerdictCertainty, ASendElsewhereIsNoCondition) {
  // Rank 2 waits for a send to be received; the deadlock of 0 and 1 does not depend on it.
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 2) return rank.root()->send(view_of(value), 0);
    rank.root()->recv(view_of(value), 1 - rank.rank());
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.findings.at(0).certainty, Certainty{.schedules = Schedules::every});
}

TEST(VerdictCertainty, MessagesQueuedOnStreamsMeetWithoutThem) {
  // Each starts to receive before it sends; on a stream the sends wait behind the receives.
  const auto program = [](SimulatedRank& rank) {
    std::int32_t in = 0;
    std::int32_t out = 0;
    Work receive = rank.root()->start_recv(view_of(in), 1 - rank.rank());
    Work send = rank.root()->start_send(view_of(out), 1 - rank.rank());
    send.wait();
    receive.wait();
  };
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = run(options, program);
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.findings.at(0).certainty.value().streams, Dependence::open);
  EXPECT_TRUE(run(2, program).holds());
}

TEST(VerdictCertainty, AReceiveFromAnySourceWithAChoiceMakesItOneOfThisSchedule) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    rank.root()->recv(view_of(value));
    rank.root()->recv(view_of(value), 1);
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.findings.at(0).certainty, Certainty{.schedules = Schedules::at_least_this});
}

Schedules schedules_of_deadlock_after(const RankProgram& before) {
  const Report report = run(2, [&before](SimulatedRank& rank) {
    before(rank);
    if (rank.rank() == 0) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  return report.findings.at(0).certainty.value().schedules;
}

TEST(VerdictCertainty, AnAbortIsAChoicePoint) {
  EXPECT_EQ(schedules_of_deadlock_after([](SimulatedRank& rank) {
              const auto child = child_of(*rank.root(), {0, 1});
              child->abort();
            }),
            Schedules::at_least_this);
}

TEST(VerdictCertainty, MessagesOfOneSourceComeInOneOrderWhateverTheirTags) {
  EXPECT_EQ(schedules_of_deadlock_after([](SimulatedRank& rank) {
              std::int32_t value = 0;
              if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 3);
              if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, any_tag);
            }),
            Schedules::every);
}

TEST(VerdictCertainty, AnySourceIsNoChoiceWhereThereIsOneOther) {
  EXPECT_EQ(schedules_of_deadlock_after([](SimulatedRank& rank) {
              std::int32_t value = 0;
              if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
              if (rank.rank() == 1) rank.root()->recv(view_of(value), any_rank);
            }),
            Schedules::every);
}

// -- What a program sees of a started operation --

// Rank 0 starts a receive from rank 1, who sends if `is_sent`, and sees to it with `look`.
Schedules schedules_after_look(bool is_sent, const std::function<void(Work&)>& look) {
  return schedules_of_deadlock_after([&](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1 && is_sent) {
      rank.runtime().sleep_for(2ms);
      rank.root()->send(view_of(value), 0);
    }
    if (rank.rank() == 1) return;
    Work work = rank.root()->start_recv(view_of(value), 1);
    look(work);
    work.wait();
  });
}

TEST(VerdictCertainty, ATestOfWhatNeverEndsIsNoChoice) {
  const auto test = [](Work& work) { EXPECT_FALSE(work.test()); };
  EXPECT_EQ(schedules_after_look(false, test), Schedules::every);
  EXPECT_EQ(schedules_after_look(true, test), Schedules::at_least_this);
}

TEST(VerdictCertainty, WhoPollsForeverMightStopSomeTime) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1) return;
    Work work = rank.root()->start_recv(view_of(value), 1);
    while (!work.test()) {
    }
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(report.certainty.value().schedules, Schedules::at_least_this);
}

TEST(VerdictCertainty, ATestThatFindsTheEndIsAChoice) {
  EXPECT_EQ(schedules_after_look(true,
                                 [](Work& work) {
                                   while (!work.test()) {
                                   }
                                 }),
            Schedules::at_least_this);
}

TEST(VerdictCertainty, AWaitThatEndsInTimeIsNoChoice) {
  EXPECT_EQ(schedules_after_look(true, [](Work& work) { EXPECT_TRUE(work.wait(3ms)); }),
            Schedules::every);
  EXPECT_EQ(schedules_after_look(true, [](Work& work) { EXPECT_FALSE(work.wait(1ms)); }),
            Schedules::at_least_this);
}

TEST(VerdictCertainty, AWaitForAnyIsAChoiceIfAnotherOneEnds) {
  const auto schedules = [](bool is_second_sent) {
    return schedules_of_deadlock_after([is_second_sent](SimulatedRank& rank) {
      std::int32_t values[2] = {};
      if (rank.rank() == 1) {
        rank.root()->send(view_of(values[0]), 0);
        if (is_second_sent) rank.root()->send(view_of(values[1]), 0, 1);
        return;
      }
      Work works[] = {rank.root()->start_recv(view_of(values[1]), 1, 1),
                      rank.root()->start_recv(view_of(values[0]), 1)};
      Work::wait_any(works);
      works[1].wait();
      works[0].wait();
    });
  };
  EXPECT_EQ(schedules(false), Schedules::every);
  EXPECT_EQ(schedules(true), Schedules::at_least_this);
}

}  // namespace
}  // namespace gang::sim
