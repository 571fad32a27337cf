#include "properties/timeouts_fire_on_time.h"

#include <chrono>

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using std::chrono::milliseconds;

// Gangs whose operations wait a millisecond longer than they are told.
Subject waiting_longer() {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Slow final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      Received do_run(Operation& operation) override {
        operation.timeout += milliseconds(1);
        return ForwardingGang::do_run(operation);
      }
    };
    return std::make_shared<Slow>(std::move(gang));
  };
  return subject;
}

TEST(TimeoutsFireOnTime, HoldInVirtualTime) { expect_hold(timeouts_fire_on_time(), 1000); }

TEST(TimeoutsFireOnTime, ATimeoutThatIsLateIsCaughtAndShrunkToTwoRanks) {
  const Counterexample found =
      expect_caught(timeouts_fire_on_time(waiting_longer()), "a_collective_times_out_on_time",
                    "is told at 2 ms, expected 1 ms");
  EXPECT_THAT(found.text,
              ::testing::StartsWith("world 2, rank 0 never comes, the others after [0,0]"));
}

TEST(TimeoutsFireOnTime, AMonitoredBarrierThatIsLateIsCaught) {
  expect_caught(timeouts_fire_on_time(waiting_longer()), "a_monitored_barrier_names_who_is_missing",
                "is told at");
}

TEST(TimeoutsFireOnTime, AMonitoredBarrierThatNamesNobodyIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Silent final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      Received do_run(Operation& operation) override {
        try {
          return ForwardingGang::do_run(operation);
        } catch (const GangError& error) {
          GangFailure failure;
          failure.kind = error.kind();
          failure.elapsed = error.elapsed();
          throw GangError(std::move(failure));
        }
      }
    };
    return std::make_shared<Silent>(std::move(gang));
  };
  expect_caught(timeouts_fire_on_time(subject), "a_monitored_barrier_names_who_is_missing",
                "ranks [] are missing");
}

TEST(TimeoutsFireOnTime, ATimeoutThatIsTakenForADeadlockIsCaught) {
  const Subject subject = running_under([](sim::SimulationOptions& options) {
    options.pending_timeouts = sim::PendingTimeouts::are_deadlocks;
  });
  expect_caught(timeouts_fire_on_time(subject), "a_collective_times_out_on_time");
}

// PlantedGang's started operations block: a wait with a timeout never says no.
TEST(TimeoutsFireOnTime, AWaitThatDoesNotTimeOutIsCaught) {
  expect_caught(timeouts_fire_on_time(corrupting(OperationKind::all_reduce)),
                "a_wait_with_timeout_ends_on_time", "barrier without all is complete");
}

}  // namespace
}  // namespace gang::properties
