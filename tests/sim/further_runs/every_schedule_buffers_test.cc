// Schedules of programs whose sends do not wait for their receives.
#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

EverySchedule seen_with_sends(SendMode sends, const RankProgram& program, int world_size = 3) {
  return run_every_schedule(
      {.world_size = world_size, .sends = sends},
      [&](const SimulationOptions& guided) { return run(guided, program); },
      [](const ExploredRun& ran) {
        EXPECT_TRUE(ran.report.holds()) << to_string(ran.report);
        return true;
      });
}

std::uint64_t classes_with_sends(SendMode sends, const RankProgram& program, int world_size = 3) {
  const EverySchedule seen = seen_with_sends(sends, program, world_size);
  EXPECT_EQ(seen.end, EverySchedule::End::all_seen);
  return seen.classes;
}

void send_rank_to(SimulatedRank& rank, int to) {
  std::int32_t value = rank.rank();
  rank.root()->send(view_of(value), to);
}

void receive_from(SimulatedRank& rank, int from) {
  std::int32_t value = 0;
  rank.root()->recv(view_of(value), from);
}

// One message from each other rank.
void receive_all(SimulatedRank& rank) {
  for (int i = 1; i < rank.world_size(); ++i) receive_from(rank, any_rank);
}

void gather_any(SimulatedRank& rank) {
  if (rank.rank() != 0) return send_rank_to(rank, 0);
  receive_all(rank);
}

TEST(EveryScheduleOfBuffers, MessagesComeInEveryOrder) {
  EXPECT_EQ(classes_with_sends(SendMode::unlimited(), gather_any, 4), 6U);
  EXPECT_EQ(classes_with_sends(SendMode::buffered(4), gather_any, 4), 6U);
}

TEST(EveryScheduleOfBuffers, ALinkThatDoesNotHoldAllIsNotCovered) {
  const EverySchedule seen = seen_with_sends(SendMode::buffered(3), gather_any);
  EXPECT_EQ(seen.end, EverySchedule::End::unguided);
  EXPECT_EQ(seen.unguided, Unguided::link_buffers);
  // One message at a time fits; but whether the second waits depends on the receiver.
  EXPECT_EQ(seen_with_sends(SendMode::buffered(4),
                            [](SimulatedRank& rank) {
                              for (int i = 0; i < 2; ++i) gather_any(rank);
                            })
                .unguided,
            Unguided::link_buffers);
}

// A sender goes on whether or not somebody has received, and so comes after nobody.
TEST(EveryScheduleOfBuffers, ASenderDoesNotFollowItsReceiver) {
  const auto program = [](SimulatedRank& rank) {
    if (rank.rank() == 0) {
      receive_all(rank);
    } else if (rank.rank() == 1) {
      send_rank_to(rank, 0);
      receive_from(rank, 2);
    } else {
      send_rank_to(rank, 1);
      send_rank_to(rank, 0);
    }
  };
  EXPECT_EQ(classes_with_sends(SendMode::rendezvous(), program), 1U);
  EXPECT_EQ(classes_with_sends(SendMode::unlimited(), program), 2U);
}

// Rank 2 goes on only once rank 1 has sent to it, which it does after it has sent to rank 0.
TEST(EveryScheduleOfBuffers, AReceiverFollowsItsSender) {
  const auto program = [](SimulatedRank& rank) {
    if (rank.rank() == 0) {
      receive_all(rank);
    } else if (rank.rank() == 1) {
      send_rank_to(rank, 0);
      send_rank_to(rank, 2);
    } else {
      receive_from(rank, 1);
      send_rank_to(rank, 0);
    }
  };
  for (const SendMode sends : {SendMode::rendezvous(), SendMode::unlimited()}) {
    const EverySchedule seen = seen_with_sends(sends, program);
    EXPECT_EQ(seen.classes, 1U);
    EXPECT_EQ(seen.cut, 0U) << "no other order is tried";
  }
}

// A buffered send has ended when it returns: nothing that comes later decides what a test sees.
TEST(EveryScheduleOfBuffers, TestsOfSendsSeeThatTheyHaveEnded) {
  const auto program = [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1) return receive_from(rank, 0);
    if (rank.rank() != 0) return;
    Work work = rank.root()->start_send(view_of(value), 1);
    work.test();
    work.wait();
  };
  EXPECT_EQ(classes_with_sends(SendMode::rendezvous(), program), 2U);
  EXPECT_EQ(classes_with_sends(SendMode::unlimited(), program), 1U);
}

}  // namespace
}  // namespace gang::sim
