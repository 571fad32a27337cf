#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "sim/schedule/random_stream.h"
#include "sim/schedule/scheduler.h"

namespace gang::sim {
namespace {

std::vector<TaskId> choices_of(std::uint64_t seed, int count) {
  const auto scheduler = make_random_scheduler(seed);
  scheduler->begin_run(8);
  RunnableSet runnable;
  for (const TaskId id : {1, 4, 6, 63}) runnable.insert(id);
  std::vector<TaskId> choices;
  for (int i = 0; i < count; ++i) choices.push_back(scheduler->next_rank(runnable, 4));
  return choices;
}

TEST(RandomScheduler, ChoosesEveryRunnableEquallyOften) {
  std::map<TaskId, int> times;
  for (const TaskId id : choices_of(1, 4000)) ++times[id];
  ASSERT_EQ(times.size(), 4U);
  for (const auto& [id, count] : times) EXPECT_NEAR(count, 1000, 150) << id;
}

TEST(RandomScheduler, IsAFunctionOfItsSeed) {
  EXPECT_EQ(choices_of(3, 50), choices_of(3, 50));
  EXPECT_NE(choices_of(3, 50), choices_of(4, 50));
}

TEST(RandomScheduler, ChoosesAndDrawsFromTheSchedulesStream) {
  const auto scheduler = make_random_scheduler(5);
  scheduler->begin_run(8);
  RandomStream stream(5, "schedule");
  RunnableSet runnable;
  for (const TaskId id : {1, 4, 6}) runnable.insert(id);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(scheduler->next_u64(), stream());
    EXPECT_EQ(scheduler->next_rank(runnable, 4), runnable.at(stream.below(3)));
  }
}

TEST(RandomScheduler, SwitchesAtEveryCall) {
  EXPECT_EQ(make_random_scheduler(1)->switch_points(), SwitchPoints::all_calls);
}

}  // namespace
}  // namespace gang::sim
