#include <gtest/gtest.h>

#include "sim/schedule/random_stream.h"
#include "sim/schedule/scheduler.h"

namespace gang::sim {
namespace {

TEST(RoundRobinScheduler, TakesTheNextRunnableInCyclicOrder) {
  const auto scheduler = make_round_robin_scheduler(1);
  scheduler->begin_run(8);
  RunnableSet runnable;
  for (const TaskId id : {1, 4, 6}) runnable.insert(id);
  EXPECT_EQ(scheduler->next_rank(runnable, 1), 4U);
  EXPECT_EQ(scheduler->next_rank(runnable, 5), 6U);
  EXPECT_EQ(scheduler->next_rank(runnable, 6), 1U);
}

TEST(RoundRobinScheduler, SwitchesOnlyWhereARankBlocks) {
  EXPECT_EQ(make_round_robin_scheduler(1)->switch_points(), SwitchPoints::blocking_calls);
}

TEST(RoundRobinScheduler, DrawsFromTheSchedulesStream) {
  const auto scheduler = make_round_robin_scheduler(5);
  RandomStream stream(5, "schedule");
  EXPECT_EQ(scheduler->next_u64(), stream());
  EXPECT_EQ(scheduler->next_u64(), stream());
}

}  // namespace
}  // namespace gang::sim
