#include "properties/timeouts_fire_on_time.h"

#include <chrono>

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using std::chrono::milliseconds;

// Gangs whose operations wait a millisecond too long.
Subject waiting_longer() {
  return running_by([](Operation& operation, const auto& inner) {
    operation.timeout += milliseconds(1);
    return inner(operation);
  });
}

TEST(TimeoutsFireOnTime, HoldInVirtualTime) { expect_hold(timeouts_fire_on_time(), 1000); }

TEST(TimeoutsFireOnTime, ATimeoutThatIsLateIsCaughtAndShrunkToTwoRanks) {
  const Counterexample found =
      expect_caught(timeouts_fire_on_time(waiting_longer()), "a_collective_times_out_on_time",
                    "gets its error at 2 ms, expected 1 ms");
  EXPECT_THAT(found.text,
              ::testing::StartsWith("world 2, rank 0 never comes, the others after [0,0]"));
}

TEST(TimeoutsFireOnTime, AMonitoredBarrierThatIsLateIsCaught) {
  expect_caught(timeouts_fire_on_time(waiting_longer()), "a_monitored_barrier_names_who_is_missing",
                "gets its error at");
}

TEST(TimeoutsFireOnTime, AMonitoredBarrierThatNamesNoRankIsCaught) {
  const Subject subject = running_by([](Operation& operation, const auto& inner) {
    try {
      return inner(operation);
    } catch (const GangError& error) {
      GangFailure failure;
      failure.kind = error.kind();
      failure.elapsed = error.elapsed();
      throw GangError(std::move(failure));
    }
  });
  expect_caught(timeouts_fire_on_time(subject), "a_monitored_barrier_names_who_is_missing",
                "names ranks [] as missing");
}

TEST(TimeoutsFireOnTime, ATimeoutThatIsTakenForADeadlockIsCaught) {
  const Subject subject = running_under([](sim::SimulationOptions& options) {
    options.pending_timeouts = sim::PendingTimeouts::are_deadlocks;
  });
  expect_caught(timeouts_fire_on_time(subject), "a_collective_times_out_on_time");
}

// PlantedGang's started operations block, so that a wait never times out.
TEST(TimeoutsFireOnTime, AWaitThatDoesNotTimeOutIsCaught) {
  expect_caught(timeouts_fire_on_time(corrupting(OperationKind::all_reduce)),
                "a_wait_with_timeout_ends_on_time", "sees a barrier complete without all ranks");
}

}  // namespace
}  // namespace gang::properties
