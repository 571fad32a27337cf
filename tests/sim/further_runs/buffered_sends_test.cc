#include "sim/further_runs/buffered_sends.h"

#include <chrono>

#include <gtest/gtest.h>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Of its first run.
bool carries_over(const RankProgram& program, SimulationOptions options = {.world_size = 3}) {
  bool carries_over = false;
  run_every_schedule(
      options, [&](const SimulationOptions& guided) { return run(guided, program); },
      [&](const ExploredRun& ran) {
        carries_over = holds_with_buffered_sends(options, ran.report, ran.guide->log());
        return false;
      });
  return carries_over;
}

void send_around(SimulatedRank& rank) {
  Gang& root = *rank.root();
  std::int32_t value = rank.rank();
  std::int32_t got = 0;
  Work sent = root.start_send(view_of(value), (rank.rank() + 1) % root.size());
  root.recv(view_of(got), (rank.rank() + root.size() - 1) % root.size());
  sent.wait();
  root.barrier();
}

TEST(HoldsWithBufferedSends, WhereEachReceiveNamesItsSource) {
  EXPECT_TRUE(carries_over(send_around));
}

TEST(HoldsWithBufferedSends, NothingIsSaidWhereNothingIsSent) {
  EXPECT_FALSE(carries_over([](SimulatedRank& rank) { rank.root()->barrier(); }));
}

TEST(HoldsWithBufferedSends, NothingIsSaidOfOtherSends) {
  EXPECT_FALSE(carries_over(send_around, {.world_size = 3, .sends = SendMode::buffered(64)}));
  EXPECT_FALSE(carries_over(send_around, {.world_size = 3, .backend = SimulatedBackend::gloo}));
}

TEST(HoldsWithBufferedSends, NotWhereTheRunFails) {
  EXPECT_FALSE(carries_over([](SimulatedRank& rank) {
    send_around(rank);
    if (rank.rank() == 0) rank.root()->barrier();
  }));
}

// With rendezvous sends, rank 2's message always comes first.
TEST(HoldsWithBufferedSends, NotWhereAReceiveIsFromAnySource) {
  const auto program = [](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::int32_t value = 0;
    if (rank.rank() == 1) {
      root.send(view_of(value), 2);
      return root.send(view_of(value), 0);
    }
    if (rank.rank() == 2) {
      root.send(view_of(value), 0);
      return static_cast<void>(root.recv(view_of(value), 1));
    }
    root.recv(view_of(value), any_rank);
    root.recv(view_of(value), 1);
  };
  const EverySchedule every = run_every_schedule(
      {.world_size = 3}, [&](const SimulationOptions& guided) { return run(guided, program); },
      [](const ExploredRun& ran) { return ran.report.holds(); });
  EXPECT_EQ(every.end, EverySchedule::End::all_seen) << "proved";
  EXPECT_EQ(every.classes, 1U);
  SimulationOptions buffered{
      .world_size = 3, .scheduler = SchedulerKind::random, .sends = SendMode::unlimited()};
  bool always_holds = true;
  for (buffered.seed = 1; buffered.seed <= 50; ++buffered.seed)
    always_holds = always_holds && run(buffered, program).holds();
  EXPECT_FALSE(always_holds);
  EXPECT_FALSE(carries_over(program));
}

TEST(HoldsWithBufferedSends, NotWhereSomethingElseMattersThanMessages) {
  const auto with = [](const std::function<void(SimulatedRank&)>& also) {
    return carries_over([also](SimulatedRank& rank) {
      also(rank);
      send_around(rank);
    });
  };
  EXPECT_TRUE(with([](SimulatedRank&) {}));
  EXPECT_FALSE(with([](SimulatedRank& rank) {
    Work work = rank.root()->start_barrier();
    work.test();
    work.wait();
  }));
  EXPECT_FALSE(
      with([](SimulatedRank& rank) { rank.runtime().sleep_for(std::chrono::milliseconds(1)); }));
  EXPECT_FALSE(with([](SimulatedRank& rank) {
    rank.runtime().start_thread("idle", [] {})->join();
  })) << "a thread";
  EXPECT_FALSE(with([](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    const std::unique_lock<RuntimeMutex> lock(*mutex);
  }));
}

}  // namespace
}  // namespace gang::sim
