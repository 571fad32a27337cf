#include "sim/schedule/scheduler.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(MakeScheduler, GivesTheOneThatIsAskedFor) {
  EXPECT_EQ(make_scheduler(SchedulerKind::round_robin, 1, std::nullopt)->switch_points(),
            SwitchPoints::blocking_calls);
  EXPECT_EQ(make_scheduler(SchedulerKind::random, 1, std::nullopt)->switch_points(),
            SwitchPoints::all_calls);
  const Schedule schedule{SwitchPoints::blocking_calls, {{1, 2}}, {}};
  const auto replay = make_scheduler(SchedulerKind::replay, 1, schedule);
  RunnableSet runnable;
  runnable.insert(0);
  runnable.insert(1);
  replay->begin_run(2);
  EXPECT_EQ(replay->next_rank(runnable, 1), 1U);
}

TEST(MakeScheduler, SeedsIt) {
  EXPECT_EQ(make_scheduler(SchedulerKind::random, 9, std::nullopt)->next_u64(),
            make_random_scheduler(9)->next_u64());
  EXPECT_EQ(make_scheduler(SchedulerKind::round_robin, 9, std::nullopt)->next_u64(),
            make_round_robin_scheduler(9)->next_u64());
}

}  // namespace
}  // namespace gang::sim
