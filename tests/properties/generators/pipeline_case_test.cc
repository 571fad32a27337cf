#include "properties/generators/pipeline_case.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pipeline/stock_schedules.h"

namespace gang::properties {
namespace {

Draw draw_from(sim::RandomStream& stream) {
  return {.random = stream, .size = 100, .max_world = 8};
}

TEST(PipelineCase, RandomSchedulesAreRightAndSoAreTheirShrinks) {
  sim::RandomStream stream{1, "pipeline"};
  std::set<std::string> seen;
  int simpler_ones = 0;
  for (int i = 0; i < 200; ++i) {
    Draw draw = draw_from(stream);
    const RandomSchedule one = generate_schedule(draw);
    EXPECT_THAT(harness::check_schedule(one.schedule), testing::IsEmpty()) << to_text(one);
    seen.insert(to_text(one));
    for (const RandomSchedule& simpler : shrinks(one)) {
      EXPECT_THAT(harness::check_schedule(simpler.schedule), testing::IsEmpty())
          << to_text(simpler);
      EXPECT_NE(simpler, one);
      ++simpler_ones;
    }
  }
  EXPECT_GT(seen.size(), 150U);
  EXPECT_GT(simpler_ones, 100);
}

TEST(PipelineCase, SaysASchedule) {
  const RandomSchedule one{harness::make_schedule(harness::ScheduleKind::one_f_one_b, {2, 1, 2})};
  EXPECT_EQ(to_text(one),
            "2 ranks, 1 stage per rank, 2 microbatches\n"
            "  rank 0: 0F0 0F1 0B0 0B1\n"
            "  rank 1: 1F0 1B0 1F1 1B1");
}

TEST(PipelineCase, MistakesAreOfEveryKind) {
  sim::RandomStream stream{1, "spoilt"};
  std::set<std::string> endings;
  for (int i = 0; i < 100; ++i) {
    Draw draw = draw_from(stream);
    const std::string mistake = generate_spoilt_schedule(draw).mistake;
    for (const char* ending : {"is missing", "is computed twice", "is on another rank", "before"})
      if (mistake.find(ending) != std::string::npos) endings.insert(ending);
  }
  EXPECT_EQ(endings.size(), 4U);
}

TEST(PipelineCase, StockSchedulesAreOfAllKindsAndAcceptedSizes) {
  std::set<harness::ScheduleKind> kinds;
  for (const StockSchedule& stock : all_stock_schedules(4)) {
    EXPECT_NO_THROW(harness::check_sizes(stock.kind, stock.sizes)) << to_text(stock);
    kinds.insert(stock.kind);
  }
  EXPECT_EQ(kinds.size(), harness::all_schedule_kinds.size());
}

}  // namespace
}  // namespace gang::properties
