#include "sim/schedule/replay_scheduler.h"

#include "sim/schedule/scheduler.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

RunnableSet set_of(const std::vector<TaskId>& ids) {
  RunnableSet runnable;
  for (const TaskId id : ids) runnable.insert(id);
  return runnable;
}

std::string divergence_of(Scheduler& scheduler, const std::vector<TaskId>& runnable) {
  try {
    scheduler.next_rank(set_of(runnable), 0);
  } catch (const ScheduleDivergence& divergence) {
    return divergence.what();
  }
  return "";
}

TEST(ReplayScheduler, RepeatsChoicesAndDraws) {
  const auto scheduler = make_replay_scheduler({SwitchPoints::all_calls, {{2, 3}, {0, 2}}, {17}});
  scheduler->begin_run(3);
  EXPECT_EQ(scheduler->switch_points(), SwitchPoints::all_calls);
  EXPECT_EQ(scheduler->next_rank(set_of({0, 1, 2}), 1), 2U);
  EXPECT_EQ(scheduler->next_rank(set_of({0, 1}), 1), 0U);
  EXPECT_EQ(scheduler->next_u64(), 17U);
}

TEST(ReplayScheduler, BeginsAnewWithEveryRun) {
  const auto scheduler = make_replay_scheduler({SwitchPoints::all_calls, {{2, 3}}, {}});
  for (int i = 0; i < 2; ++i) {
    scheduler->begin_run(3);
    EXPECT_EQ(scheduler->next_rank(set_of({0, 1, 2}), 1), 2U);
  }
}

TEST(ReplayScheduler, NamesTheFirstStepThatDiffers) {
  const Schedule schedule{SwitchPoints::all_calls, {{2, 3}, {1, 2}}, {}};
  const auto scheduler = make_replay_scheduler(schedule);
  scheduler->begin_run(3);
  EXPECT_EQ(divergence_of(*scheduler, {0, 1}),
            "step 0: recorded was a choice among 3 contexts; found are 2");
  EXPECT_EQ(divergence_of(*scheduler, {0, 1, 3}),
            "step 0: recorded was context 2, which cannot run here");
  scheduler->next_rank(set_of({0, 1, 2}), 0);
  scheduler->next_rank(set_of({0, 1}), 0);
  EXPECT_EQ(divergence_of(*scheduler, {0, 1}),
            "step 2: the schedule has ended; here is a choice among 2 contexts");
}

TEST(ReplayScheduler, NamesTheDrawThatWasNotRecorded) {
  const auto scheduler = make_replay_scheduler({SwitchPoints::all_calls, {}, {}});
  EXPECT_THROW(scheduler->next_u64(), ScheduleDivergence);
}

TEST(ReplayScheduler, DrawsAnewInEveryRunAndSwitchesWhereItIsRecorded) {
  const auto scheduler = make_replay_scheduler({SwitchPoints::blocking_calls, {}, {17, 42}});
  for (int i = 0; i < 2; ++i) {
    scheduler->begin_run(3);
    EXPECT_EQ(scheduler->next_u64(), 17U);
  }
  EXPECT_EQ(scheduler->switch_points(), SwitchPoints::blocking_calls);
}

}  // namespace
}  // namespace gang::sim
