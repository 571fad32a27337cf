#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pipeline/schedule_timeline.h"
#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

std::string drawing_of(ScheduleKind kind, const PipelineSizes& sizes) {
  return draw(timeline_of(make_schedule(kind, sizes)), sizes);
}

TEST(ScheduleDrawing, HasARowPerRankAndAColumnPerUnitOfTime) {
  EXPECT_EQ(drawing_of(ScheduleKind::one_f_one_b, {3, 1, 3}), R"(
  time      0  1  2  3  4  5  6  7  8  9 10 11 12 13 14
  rank   0 F0 F1 F2  .  .  .  . B0 ==  . B1 ==  . B2 ==
  rank   1  . F0 F1  .  . B0 == F2 B1 ==  . B2 ==  .  .
  rank   2  .  . F0 B0 == F1 B1 == F2 B2 ==  .  .  .  .
)");
}

TEST(ScheduleDrawing, NamesTheStageIfARankHasSeveral) {
  EXPECT_THAT(drawing_of(ScheduleKind::interleaved_1f1b, {2, 2, 2}),
              testing::HasSubstr("  rank   1   . 1F0 1F1 3F0 3B0 ==="));
}

TEST(ScheduleDrawing, StaysWithinEightyColumnsAndTwoHundredLines) {
  for (const PipelineSizes& sizes :
       {PipelineSizes{4, 1, 8}, PipelineSizes{8, 1, 300}, PipelineSizes{100, 1, 200}}) {
    std::istringstream lines(drawing_of(ScheduleKind::one_f_one_b, sizes));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
    EXPECT_LT(count, 220);
  }
}

TEST(ScheduleDrawing, SaysWhatItLeavesOut) {
  EXPECT_THAT(drawing_of(ScheduleKind::one_f_one_b, {8, 1, 300}),
              testing::HasSubstr("... until 921; --json has all of it"));
  EXPECT_THAT(drawing_of(ScheduleKind::one_f_one_b, {100, 1, 100}),
              testing::HasSubstr("... 100 ranks"));
}

TEST(ScheduleDrawing, DrawsUpTo64Ranks) {
  const auto drawing = [](int ranks) {
    return drawing_of(ScheduleKind::one_f_one_b, {ranks, 1, ranks});
  };
  EXPECT_THAT(drawing(64), testing::HasSubstr("\n  rank  63 "));
  EXPECT_THAT(drawing(64), testing::Not(testing::HasSubstr("... 64 ranks")));
  EXPECT_THAT(drawing(65), testing::Not(testing::HasSubstr("\n  rank  64 ")));
  EXPECT_THAT(drawing(65), testing::HasSubstr("... 65 ranks"));
}

TEST(ScheduleDrawing, TimesAreApart) {
  const ScheduleTimeline timeline{.by_rank = {{{{0, 0, Pass::forward}, 0, 1}}}, .length = 120};
  EXPECT_THAT(draw(timeline, {1, 1, 1}), testing::HasSubstr("  99 100 101\n"));
}

}  // namespace
}  // namespace gang::harness
