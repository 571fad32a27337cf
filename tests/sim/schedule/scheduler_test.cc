#include "sim/schedule/scheduler.h"

#include <gtest/gtest.h>

#include "sim/options/simulation_options.h"

namespace gang::sim {
namespace {

TEST(MakeScheduler, GivesTheOneThatTheOptionsAskFor) {
  EXPECT_EQ(make_scheduler({.scheduler = SchedulerKind::round_robin})->switch_points(),
            SwitchPoints::blocking_calls);
  EXPECT_EQ(make_scheduler({.scheduler = SchedulerKind::random})->switch_points(),
            SwitchPoints::all_calls);
  const Schedule schedule{SwitchPoints::blocking_calls, {{1, 2}}, {}};
  const auto replay = make_scheduler({.scheduler = SchedulerKind::replay, .replay = schedule});
  RunnableSet runnable;
  runnable.insert(0);
  runnable.insert(1);
  replay->begin_run(2);
  EXPECT_EQ(replay->next_rank(runnable, 1), 1U);
}

TEST(MakeScheduler, SeedsItFromTheOptions) {
  const SimulationOptions options{.seed = 9, .scheduler = SchedulerKind::random};
  EXPECT_EQ(make_scheduler(options)->next_u64(), make_random_scheduler(9)->next_u64());
}

}  // namespace
}  // namespace gang::sim
