#include "harness/pipeline/stock_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

std::string passes_of(const PipelineSchedule& schedule, std::size_t rank) {
  std::string text;
  for (const StagePass& pass : schedule.by_rank[rank])
    text += (text.empty() ? "" : " ") + to_string(pass);
  return text;
}

std::string refusal(ScheduleKind kind, const PipelineSizes& sizes) {
  try {
    make_schedule(kind, sizes);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(StockSchedules, GPipeGoesForwardWithAllMicrobatchesFirst) {
  const PipelineSchedule schedule = make_schedule(ScheduleKind::gpipe, {2, 1, 3});
  EXPECT_EQ(passes_of(schedule, 0), "0F0 0F1 0F2 0B0 0B1 0B2");
  EXPECT_EQ(passes_of(schedule, 1), "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(StockSchedules, OneForwardOneBackwardAlternates) {
  const PipelineSchedule schedule = make_schedule(ScheduleKind::one_f_one_b, {3, 1, 4});
  EXPECT_EQ(passes_of(schedule, 0), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(passes_of(schedule, 2), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

// As in Figure 4 of the Megatron-LM paper: two chunks, microbatches in groups of the ranks.
TEST(StockSchedules, InterleavedGoesThroughAllStagesOfARankWithOneGroup) {
  const PipelineSchedule schedule = make_schedule(ScheduleKind::interleaved_1f1b, {2, 2, 2});
  EXPECT_EQ(passes_of(schedule, 0), "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
  EXPECT_EQ(passes_of(schedule, 1), "1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1");
}

TEST(StockSchedules, ZeroBubblePutsOffTheGradientsOfWeights) {
  const PipelineSchedule schedule = make_schedule(ScheduleKind::zero_bubble_h1, {2, 1, 3});
  EXPECT_EQ(passes_of(schedule, 0), "0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2");
  EXPECT_EQ(passes_of(schedule, 1), "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2");
}

TEST(StockSchedules, KnowTheirFormulas) {
  const ScheduleBounds bounds = bounds_of(ScheduleKind::one_f_one_b, {4, 1, 8});
  EXPECT_EQ(bounds.bubble_formula, "(R-1) / (M + R-1)");
  EXPECT_EQ(bounds.idle_units, 9);
  EXPECT_EQ(bounds.total_units, 33);
  EXPECT_THAT(bounds.most_activations, testing::ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(bounds_of(ScheduleKind::gpipe, {4, 1, 8}).most_activations, testing::Each(8));
  EXPECT_THAT(bounds_of(ScheduleKind::zero_bubble_h1, {4, 1, 8}).most_activations,
              testing::Each(4));
}

TEST(StockSchedules, HaveNamesThatParse) {
  for (const ScheduleKind kind : all_schedule_kinds)
    EXPECT_EQ(parse_schedule_kind(to_string(kind)), kind);
  EXPECT_THAT(
      [] { parse_schedule_kind("1f1d"); },
      testing::ThrowsMessage<InvalidArgument>(testing::AllOf(
          testing::HasSubstr("did you mean '1f1b'"), testing::HasSubstr("zero_bubble_h1"))));
}

TEST(StockSchedules, NameThePossibleSizes) {
  EXPECT_EQ(refusal(ScheduleKind::one_f_one_b, {4, 1, 3}),
            "the number of microbatches is 3; must be at least 4, the number of pipeline ranks");
  EXPECT_THAT(refusal(ScheduleKind::interleaved_1f1b, {4, 2, 3}),
              testing::HasSubstr("must be a multiple of 4"));
  EXPECT_THAT(refusal(ScheduleKind::interleaved_1f1b, {4, 2, 10}),
              testing::HasSubstr("must be a multiple of 4, such as 8 or 12"));
  EXPECT_THAT(refusal(ScheduleKind::gpipe, {4, 2, 8}),
              testing::HasSubstr("stages per rank is 2; must be 1 for schedule"));
  EXPECT_THAT(refusal(ScheduleKind::gpipe, {0, 1, 8}), testing::HasSubstr("at least 1"));
  EXPECT_THAT(refusal(ScheduleKind::gpipe, {1, 1, 0}), testing::HasSubstr("at least 1"));
  EXPECT_THAT(refusal(ScheduleKind::gpipe, {4096, 1, 4096}),
              testing::HasSubstr("the product must be at most 4194304"));
}

TEST(StockSchedules, EachHasItsFormula) {
  EXPECT_EQ(bounds_of(ScheduleKind::gpipe, {4, 1, 8}).bubble_formula, "(R-1) / (M + R-1)");
  EXPECT_EQ(bounds_of(ScheduleKind::interleaved_1f1b, {4, 2, 8}).bubble_formula,
            "(R-1) / (V M + R-1)");
  EXPECT_EQ(bounds_of(ScheduleKind::zero_bubble_h1, {4, 1, 8}).bubble_formula,
            "(R-1) / (3 M + R-1)");
}

TEST(StockSchedules, NeedAStageAndMayBeOfTheGreatestSize) {
  EXPECT_EQ(refusal(ScheduleKind::interleaved_1f1b, {1, 0, 1}),
            "the number of stages per rank is 0; must be at least 1");
  EXPECT_NO_THROW(check_sizes(ScheduleKind::gpipe, {1, 1, 1 << 22}));
  EXPECT_THROW(check_sizes(ScheduleKind::gpipe, {1, 1, (1 << 22) + 1}), InvalidArgument);
}

// A rank of 1F1B has as many microbatches under way as warm up, and the one that follows.
TEST(StockSchedules, InterleavedStoresWhatWarmsUpAndOneMore) {
  const ScheduleBounds bounds = bounds_of(ScheduleKind::interleaved_1f1b, {4, 2, 8});
  EXPECT_THAT(bounds.most_activations, testing::ElementsAre(11, 9, 7, 5));
  EXPECT_EQ(bounds.idle_units, 9);
  EXPECT_EQ(bounds.total_units, 57);
  EXPECT_THAT(bounds_of(ScheduleKind::interleaved_1f1b, {4, 2, 4}).most_activations,
              testing::ElementsAre(8, 8, 7, 5));
}

}  // namespace
}  // namespace gang::harness
