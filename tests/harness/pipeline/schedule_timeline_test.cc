#include "harness/pipeline/schedule_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

TEST(ScheduleTimeline, StartsAPassWhenItsInputsAreReady) {
  const ScheduleTimeline timeline = timeline_of(make_schedule(ScheduleKind::gpipe, {2, 1, 2}));
  const std::vector<TimedPass>& last = timeline.by_rank[1];
  EXPECT_EQ(last[0].start, 1);  // 1F0 after 0F0
  EXPECT_EQ(last[1].start, 2);  // 1F1
  EXPECT_EQ(last[2].start, 3);  // 1B0
  const std::vector<TimedPass>& first = timeline.by_rank[0];
  EXPECT_EQ(first[2].start, 5);  // 0B0 after 1B0, which takes two
  EXPECT_EQ(timeline.length, 9);
  EXPECT_EQ(timeline.idle_units(0), 3);
  EXPECT_DOUBLE_EQ(timeline.bubble_fraction(), 3.0 / 9);
  EXPECT_TRUE(timeline.stuck.empty());
}

TEST(ScheduleTimeline, SendsTheGradientBeforeTheWeightsAreDone) {
  const ScheduleTimeline timeline =
      timeline_of(make_schedule(ScheduleKind::zero_bubble_h1, {2, 1, 2}));
  EXPECT_EQ(timeline.length, 7);  // 6 of work and 1 of waiting
}

TEST(ScheduleTimeline, NamesThePassesThatCanNeverRun) {
  PipelineSchedule schedule = make_schedule(ScheduleKind::gpipe, {2, 1, 2});
  std::swap(schedule.by_rank[0][1], schedule.by_rank[0][2]);  // 0B0 before 0F1
  std::swap(schedule.by_rank[1][0], schedule.by_rank[1][1]);  // 1F1 before 1F0
  const ScheduleTimeline timeline = timeline_of(schedule);
  EXPECT_THAT(timeline.stuck, testing::ElementsAre("0B0", "1F1"));
}

TEST(ScheduleTimeline, OfNothingThereIsNoBubble) {
  EXPECT_EQ(ScheduleTimeline{}.bubble_fraction(), 0);
}

// Rank 0 computes 9 of 12 units, rank 1 3 of 12.
TEST(ScheduleTimeline, TheBubbleIsThatOfAllRanks) {
  ScheduleTimeline timeline{.length = 12};
  timeline.by_rank = {{{{0, 0, Pass::forward}, 0, 9}}, {{{1, 0, Pass::forward}, 9, 12}}};
  EXPECT_EQ(timeline.idle_units(0), 3);
  EXPECT_EQ(timeline.idle_units(1), 9);
  EXPECT_DOUBLE_EQ(timeline.bubble_fraction(), 0.5);
}

TEST(ScheduleTimeline, WeightsWaitForTheGradientOfTheInput) {
  const PipelineSchedule schedule{
      .sizes = {1, 1, 1},
      .by_rank = {
          {{0, 0, Pass::forward}, {0, 0, Pass::backward_weight}, {0, 0, Pass::backward_input}}}};
  EXPECT_THAT(timeline_of(schedule).stuck, testing::ElementsAre("0W0"));
}

}  // namespace
}  // namespace gang::harness
