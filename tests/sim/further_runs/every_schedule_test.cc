#include "sim/further_runs/every_schedule.h"

#include <map>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Runs the program under every schedule, whatever comes of it.
EverySchedule seen_of(const SimulationOptions& options, const RankProgram& program,
                      const std::function<void(const Report&)>& look = {}) {
  return run_every_schedule(
      options, [&](const SimulationOptions& guided) { return run(guided, program); },
      [&](const Report& report, const std::optional<Contest>&) {
        if (look) look(report);
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

TEST(EverySchedule, ATestSeesAnEndOrNot) {
  std::map<bool, int> seen;
  const EverySchedule all = seen_of({.world_size = 2}, [&seen](SimulatedRank& rank) {
    if (rank.rank() == 1) return rank.root()->barrier();
    Work work = rank.root()->start_barrier();
    ++seen[work.test()];
    work.wait();
  });
  EXPECT_EQ(all.classes, 2);
  EXPECT_EQ(seen, (std::map<bool, int>{{false, 1}, {true, 1}}));
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

}  // namespace
}  // namespace gang::sim
