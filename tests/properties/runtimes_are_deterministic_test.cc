#include "properties/runtimes_are_deterministic.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(RuntimesAreDeterministic, HoldOnTheSimulator) {
  expect_hold(runtimes_are_deterministic(), 400);
}

TEST(RuntimesAreDeterministic, AWrongSumIsCaught) {
  expect_caught(runtimes_are_deterministic(corrupting(OperationKind::all_reduce)),
                "loaders_hand_over_every_item", "sum 0 is");
}

TEST(RuntimesAreDeterministic, AClockThatIsOffIsCaught) {
  const Subject subject =
      reporting([](sim::Report& report) { report.virtual_time += Duration(1); });
  expect_caught(runtimes_are_deterministic(subject), "virtual_time_is_the_critical_path",
                "of virtual time, expected");
}

TEST(RuntimesAreDeterministic, AScheduleThatIsNotFollowedIsCaught) {
  const Subject subject = running_under([](sim::SimulationOptions& options) {
    if (options.scheduler != sim::SchedulerKind::replay) return;
    options.scheduler = sim::SchedulerKind::random;
    options.replay.reset();
    options.seed += 17;
  });
  expect_caught(runtimes_are_deterministic(subject), "threads_of_ranks_replay",
                "the replay differs");
}

TEST(RuntimesAreDeterministic, AContextThatShowsIsCaught) {
  const Subject subject = running_under([](sim::SimulationOptions& options) {
    if (options.context == sim::ContextKind::thread) options.scheduler = sim::SchedulerKind::random;
  });
  expect_caught(runtimes_are_deterministic(subject), "fibers_and_threads_agree");
}

}  // namespace
}  // namespace gang::properties
