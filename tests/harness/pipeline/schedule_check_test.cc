#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PipelineSchedule small_schedule() { return make_schedule(ScheduleKind::one_f_one_b, {2, 1, 2}); }

TEST(ScheduleCheck, StockSchedulesOfAllSmallSizesAreRightAndKeepTheirBounds) {
  int checked = 0;
  for (const ScheduleKind kind : all_schedule_kinds) {
    const bool interleaves = kind == ScheduleKind::interleaved_1f1b;
    for (int ranks = 1; ranks <= 6; ++ranks) {
      for (int per_rank = 1; per_rank <= (interleaves ? 3 : 1); ++per_rank) {
        for (int m = ranks; m <= 3 * ranks; m += interleaves ? ranks : 1) {
          const PipelineSizes sizes{ranks, per_rank, m};
          const PipelineSchedule schedule = make_schedule(kind, sizes);
          EXPECT_THAT(check_schedule(schedule), IsEmpty()) << to_string(kind) << to_string(sizes);
          EXPECT_THAT(check_bounds(schedule, bounds_of(kind, sizes)), IsEmpty())
              << to_string(kind) << to_string(sizes);
          ++checked;
        }
      }
    }
  }
  EXPECT_EQ(checked, 198);
}

TEST(ScheduleCheck, StoredActivationsAreCounted) {
  EXPECT_THAT(peak_activations(make_schedule(ScheduleKind::one_f_one_b, {4, 1, 8})),
              ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(peak_activations(make_schedule(ScheduleKind::gpipe, {2, 1, 8})), ElementsAre(8, 8));
  EXPECT_THAT(peak_activations(make_schedule(ScheduleKind::zero_bubble_h1, {3, 1, 8})),
              ElementsAre(3, 3, 3));
}

TEST(ScheduleCheck, AMissingPassIsNamed) {
  PipelineSchedule schedule = small_schedule();
  schedule.by_rank[1].pop_back();
  EXPECT_THAT(check_schedule(schedule), ElementsAre("1B1 is never computed."));
}

TEST(ScheduleCheck, APassComputedTwiceIsNamed) {
  PipelineSchedule schedule = small_schedule();
  schedule.by_rank[0].push_back(schedule.by_rank[0].front());
  EXPECT_THAT(check_schedule(schedule), ElementsAre("Rank 0 computes 0F0 twice."));
  schedule = small_schedule();
  schedule.by_rank[0].push_back({0, 0, Pass::backward_weight});
  EXPECT_THAT(check_schedule(schedule), ElementsAre(HasSubstr("0W0 is part of 0B0")));
}

TEST(ScheduleCheck, ABackwardPassBeforeItsForwardPassIsNamed) {
  PipelineSchedule schedule = small_schedule();
  std::swap(schedule.by_rank[1][0], schedule.by_rank[1][1]);
  EXPECT_THAT(check_schedule(schedule),
              ElementsAre("Rank 1 computes 1B0 before 1F0, which it needs."));
}

TEST(ScheduleCheck, HalfABackwardPassIsNamed) {
  PipelineSchedule schedule = make_schedule(ScheduleKind::zero_bubble_h1, {1, 1, 1});
  schedule.by_rank[0].pop_back();
  EXPECT_THAT(check_schedule(schedule), ElementsAre("0W0 is never computed."));
  schedule.by_rank[0] = {
      {0, 0, Pass::forward}, {0, 0, Pass::backward_weight}, {0, 0, Pass::backward_input}};
  EXPECT_THAT(check_schedule(schedule), ElementsAre(HasSubstr("0W0 before 0I0")));
}

TEST(ScheduleCheck, APassOfAnotherRankIsNamed) {
  PipelineSchedule schedule = small_schedule();
  schedule.by_rank[0][0].stage = 1;
  EXPECT_THAT(check_schedule(schedule),
              ElementsAre("Rank 0 computes 1F0, but stage 1 is on rank 1."));
  schedule.by_rank[0][0] = {0, 2, Pass::forward};
  EXPECT_THAT(check_schedule(schedule), ElementsAre(HasSubstr("only 2 stages and 2 microbatches")));
  schedule.by_rank.pop_back();
  EXPECT_THAT(check_schedule(schedule),
              ElementsAre(HasSubstr("passes for 1 ranks, but the pipeline has 2")));
}

TEST(ScheduleCheck, RanksThatWaitForEachOtherAreNamed) {
  PipelineSchedule schedule = make_schedule(ScheduleKind::gpipe, {2, 1, 2});
  std::swap(schedule.by_rank[0][1], schedule.by_rank[0][2]);
  std::swap(schedule.by_rank[1][0], schedule.by_rank[1][1]);
  EXPECT_THAT(check_schedule(schedule),
              ElementsAre("Ranks wait for each other: rank 0 with 0B0, rank 1 with 1F1."));
}

TEST(ScheduleCheck, AScheduleThatIsWorseThanItsFormulaIsNamed) {
  const PipelineSizes sizes{3, 1, 4};
  const std::vector<std::string> complaints = check_bounds(
      make_schedule(ScheduleKind::gpipe, sizes), bounds_of(ScheduleKind::one_f_one_b, sizes));
  EXPECT_THAT(complaints,
              testing::Contains("Rank 2 stores 4 activations at once; the bound is 1."));
  EXPECT_THAT(
      check_bounds(make_schedule(ScheduleKind::one_f_one_b, sizes),
                   bounds_of(ScheduleKind::zero_bubble_h1, sizes)),
      testing::Contains("Rank 0 is idle for 6 of 18 units of time; by the formula, 2 of 14."));
}

TEST(ScheduleCheck, OnlySoManyComplaintsAreMade) {
  const PipelineSchedule empty{.sizes = {2, 1, 8}, .by_rank = {{}, {}}};
  const std::vector<std::string> complaints = check_schedule(empty);
  EXPECT_EQ(complaints.size(), 8U);
  EXPECT_EQ(complaints.front(), "0F0 is never computed.");
}

TEST(ScheduleCheck, AStageOrMicrobatchBelow0IsNamed) {
  for (const StagePass& pass : {StagePass{-1, 0, Pass::forward}, StagePass{0, -1, Pass::forward}}) {
    PipelineSchedule schedule = small_schedule();
    schedule.by_rank[0][0] = pass;
    EXPECT_THAT(check_schedule(schedule),
                ElementsAre(HasSubstr("only 2 stages and 2 microbatches")));
  }
}

TEST(ScheduleCheck, AScheduleOfNothingHasNothingToCompute) {
  EXPECT_THAT(check_schedule({.sizes = {1, 1, 0}, .by_rank = {{}}}),
              ElementsAre("A schedule of 1 rank, 1 stage per rank, 0 microbatches has nothing to "
                          "compute."));
}

TEST(ScheduleCheck, AScheduleHasRanksAndStages) {
  EXPECT_THAT(check_schedule({.sizes = {1, 0, 1}, .by_rank = {{}}}),
              ElementsAre(HasSubstr("0 stages per rank, 1 microbatch has nothing to compute")));
  EXPECT_THAT(check_schedule({.sizes = {0, 1, 1}, .by_rank = {}}),
              ElementsAre(HasSubstr("A schedule of 0 ranks, ")));
}

TEST(ScheduleCheck, TheFirstStageThatThereIsNotIsNamed) {
  PipelineSchedule schedule = small_schedule();
  schedule.by_rank[0][0].stage = 2;
  EXPECT_THAT(check_schedule(schedule),
              ElementsAre("Rank 0 computes 2F0, but there are only 2 stages and 2 microbatches."));
}

TEST(ScheduleCheck, AGradientBeforeItsForwardPassIsNamed) {
  PipelineSchedule schedule = make_schedule(ScheduleKind::zero_bubble_h1, {1, 1, 1});
  schedule.by_rank[0] = {
      {0, 0, Pass::backward_input}, {0, 0, Pass::forward}, {0, 0, Pass::backward_weight}};
  EXPECT_THAT(check_schedule(schedule),
              ElementsAre("Rank 0 computes 0I0 before 0F0, which it needs."));
}

TEST(ScheduleCheck, EveryRankHasItsOwnBound) {
  const PipelineSizes sizes{3, 1, 4};
  ScheduleBounds bounds = bounds_of(ScheduleKind::one_f_one_b, sizes);
  bounds.most_activations[2] = 0;
  EXPECT_THAT(check_bounds(make_schedule(ScheduleKind::one_f_one_b, sizes), bounds),
              ElementsAre("Rank 2 stores 1 activations at once; the bound is 0."));
}

TEST(ScheduleCheck, IdleTimeAndTheWholeTimeAreBothHeldToTheFormula) {
  const PipelineSizes sizes{2, 1, 2};
  const PipelineSchedule schedule = small_schedule();
  ScheduleBounds idler = bounds_of(ScheduleKind::one_f_one_b, sizes);
  ScheduleBounds longer = idler;
  ++idler.idle_units;
  ++longer.total_units;
  EXPECT_THAT(check_bounds(schedule, idler),
              ElementsAre(HasSubstr("idle for 3 of 9 units of time; by the formula, 4 of 9"),
                          HasSubstr("idle for 3 of 9 units of time; by the formula, 4 of 9")));
  EXPECT_THAT(check_bounds(schedule, longer),
              ElementsAre(HasSubstr("idle for 3 of 9 units of time; by the formula, 3 of 10"),
                          HasSubstr("idle for 3 of 9 units of time; by the formula, 3 of 10")));
}

}  // namespace
}  // namespace gang::harness
