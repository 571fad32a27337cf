#include "sim/matching/sole_senders.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// In which schedules three ranks deadlock that run `before`, and then wait for rank 2.
Schedules schedules_after(const RankProgram& before, SimulationOptions options = {}) {
  options.world_size = 3;
  const Report report = run(options, [&before](SimulatedRank& rank) {
    before(rank);
    if (rank.rank() != 2) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  return report.certainty.value().schedules;
}

void send(SimulatedRank& rank, int tag = 0) {
  std::int32_t value = rank.rank();
  rank.root()->send(view_of(value), 0, tag);
}

void receive(SimulatedRank& rank, int source = any_rank, int tag = 0) {
  std::int32_t value = 0;
  rank.root()->recv(view_of(value), source, tag);
}

TEST(SoleSenders, TheOnlySenderIsNoChoice) {
  const RankProgram program = [](SimulatedRank& rank) {
    if (rank.rank() == 0) receive(rank);
    if (rank.rank() == 1) send(rank);
  };
  EXPECT_EQ(schedules_after(program), Schedules::every);
  EXPECT_EQ(schedules_after(program, {.sends = SendMode::buffered(1024)}), Schedules::every);
}

TEST(SoleSenders, AReceiveThatTakesNothingIsNoChoice) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              if (rank.rank() == 0) receive(rank);
            }),
            Schedules::every);
}

TEST(SoleSenders, TwoThatMayComeFirstAreAChoice) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              if (rank.rank() != 0) return send(rank);
              receive(rank);
              receive(rank);
            }),
            Schedules::at_least_this);
}

TEST(SoleSenders, ALateSenderIsAChoiceToo) {
  // Rank 2 sends once rank 1, whose message was taken, lets it.
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              std::int32_t value = 0;
              if (rank.rank() == 0) {
                receive(rank);
                return receive(rank, 2);
              }
              if (rank.rank() == 1) {
                rank.root()->send(view_of(value), 2);
                return send(rank);
              }
              rank.root()->recv(view_of(value), 1);
              send(rank);
            }),
            Schedules::at_least_this);
}

TEST(SoleSenders, AMessageWithAnotherTagIsNone) {
  const auto program = [](int wanted) {
    return [wanted](SimulatedRank& rank) {
      if (rank.rank() != 0) return send(rank, rank.rank());
      receive(rank, any_rank, wanted);
      receive(rank, wanted == 1 ? 2 : any_rank, any_tag);
    };
  };
  EXPECT_EQ(schedules_after(program(1)), Schedules::every);
  EXPECT_EQ(schedules_after(program(any_tag)), Schedules::at_least_this);
}

TEST(SoleSenders, WhatIsSentAfterACollectiveOfAllComesLater) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              for (int sender = 1; sender < 3; ++sender) {
                if (rank.rank() == 0) receive(rank);
                if (rank.rank() == sender) send(rank);
                rank.root()->barrier();
              }
            }),
            Schedules::every);
}

TEST(SoleSenders, ACollectiveThatTheReceiverCalledBeforeOrdersNothing) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              Work barrier = rank.root()->start_barrier();
              if (rank.rank() == 2) barrier.wait();
              if (rank.rank() != 0) send(rank);
              if (rank.rank() == 0) {
                receive(rank);
                receive(rank);
              }
              if (rank.rank() != 2) barrier.wait();
            }),
            Schedules::at_least_this);
}

TEST(SoleSenders, ACollectiveThatTheSenderOnlyStartedOrdersNothing) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              if (rank.rank() == 0) receive(rank);
              if (rank.rank() == 1) send(rank);
              Work barrier = rank.root()->start_barrier();
              if (rank.rank() == 2) send(rank);
              if (rank.rank() == 0) receive(rank);
              barrier.wait();
            }),
            Schedules::at_least_this);
}

TEST(SoleSenders, AStartedReceiveMayEndAfterTheCollective) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              std::int32_t value = 0;
              Work work;
              if (rank.rank() == 0) work = rank.root()->start_recv(view_of(value));
              if (rank.rank() == 1) send(rank);
              rank.root()->barrier();
              if (rank.rank() == 2) send(rank);
              if (rank.rank() == 0) {
                work.wait();
                receive(rank);
              }
            }),
            Schedules::at_least_this);
}

TEST(SoleSenders, WhatIsSentAtALaterTimeComesLater) {
  EXPECT_EQ(schedules_after([](SimulatedRank& rank) {
              if (rank.rank() == 2) rank.runtime().sleep_for(1ms);
              if (rank.rank() != 0) return send(rank);
              receive(rank);
              receive(rank);
            }),
            Schedules::every);
}

}  // namespace
}  // namespace gang::sim
