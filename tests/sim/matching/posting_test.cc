#include "sim/matching/posting.h"

#include "sim/faults/fault_plan.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Calls of every way through posting, blocking and started, on two gangs; each rank adds what it
// gets to `sums`.
void call_in_every_way(SimulatedRank& rank, std::vector<double>& sums) {
  Gang& gang = *rank.root();
  const int next = (gang.rank() + 1) % gang.size();
  const int previous = (gang.rank() + gang.size() - 1) % gang.size();
  double& sum = sums[static_cast<std::size_t>(gang.rank())];
  for (int step = 0; step < 3; ++step) {
    float value = static_cast<float>(gang.rank() + step);
    gang.all_reduce(view_of(value), ReduceOperation::sum);
    sum += value;
    std::vector<float> many(64, value);
    Work work = gang.start_all_reduce(view(many), ReduceOperation::max);
    work.wait();
    sum += many.back();
    float received = 0;
    const PointToPoint both[] = {
        {.kind = OperationKind::send, .tensor = view_of(value), .peer = next, .tag = step},
        {.kind = OperationKind::recv, .tensor = view_of(received), .peer = previous, .tag = step}};
    gang.batch(both);
    sum += received;
    if (gang.rank() % 2 == 0) {
      gang.send(view_of(value), next);
    } else {
      gang.recv(view_of(received), any_rank);
      sum += received;
    }
    const auto half = gang.split({.color = gang.rank() % 2, .key = 0});
    half->broadcast(view_of(value), step % half->size());
    sum += value;
    gang.monitored_barrier(1s);
    rank.runtime().sleep_for(1ms);
  }
}

struct Ended {
  std::uint64_t digest = 0;
  std::vector<double> sums;
};

Ended run_with(SimulationOptions options) {
  options.world_size = 6;
  Ended ended;
  ended.sums.resize(6);
  const Report report =
      run(options, [&ended](SimulatedRank& rank) { call_in_every_way(rank, ended.sums); });
  EXPECT_TRUE(report.holds()) << to_string(report);
  ended.digest = report.trace.digest;
  return ended;
}

// Calls take a shorter way where nobody watches, records or harms them.
TEST(Posting, IsTheSameWhoeverWatches) {
  const Ended plain = run_with({});
  EXPECT_NE(plain.sums[0], 0);
  SimulationOptions recorded{.trace = Recording::on};
  SimulationOptions with_timeline{.timeline = Recording::on};
  SimulationOptions with_schedule{.schedule = Recording::on};
  SimulationOptions with_plan{.faults = std::make_shared<const FaultPlan>()};
  SimulationOptions on_threads{.context = ContextKind::thread};
  for (const SimulationOptions* options :
       {&recorded, &with_timeline, &with_schedule, &with_plan, &on_threads}) {
    const Ended watched = run_with(*options);
    EXPECT_EQ(watched.digest, plain.digest);
    EXPECT_EQ(watched.sums, plain.sums);
  }
}

// The last slot of the run before, whose waiters are long gone, wakes nobody.
TEST(Posting, OfASlotThatIsUsedAgainWakesItsOwnMembers) {
  const Report report = run({.world_size = 3}, [](SimulatedRank& rank) {
    for (int step = 0; step < 50; ++step) {
      if (rank.rank() == step % 3) rank.runtime().yield();
      double value = 1;
      rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
      EXPECT_EQ(value, 3);
      float wide[8] = {1, 1, 1, 1, 1, 1, 1, 1};  // not kept beside the slot
      rank.root()->all_reduce(view(wide), ReduceOperation::sum);
      EXPECT_EQ(wide[7], 3);
    }
  });
  EXPECT_TRUE(report.holds());
}

// A run that ends while others are inside a call: they unwind, and none goes on as before.
TEST(Posting, EndsWithTheRun) {
  int gone_on = 0;
  const Report report = run({.world_size = 4}, [&gone_on](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() == 3) return;
    rank.root()->barrier();
    ++gone_on;
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(gone_on, 0);
}

}  // namespace
}  // namespace gang::sim
