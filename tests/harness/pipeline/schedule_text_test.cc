#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/pipeline/schedule.h"
#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

TEST(ScheduleText, RoundTrips) {
  for (const ScheduleKind kind : all_schedule_kinds) {
    const int per_rank = kind == ScheduleKind::interleaved_1f1b ? 2 : 1;
    const PipelineSchedule schedule = make_schedule(kind, {3, per_rank, 6});
    EXPECT_EQ(parse_schedule(to_text(schedule), "text"), schedule);
  }
}

TEST(ScheduleText, CellsMayBeEmptyAndLinesEndInAnyWay) {
  const PipelineSchedule schedule = parse_schedule("0F0, ,,0B0\r\n,1F0,1I0,1W0\n\n", "text");
  EXPECT_EQ(schedule.sizes, (PipelineSizes{2, 1, 1}));
  EXPECT_EQ(to_text(schedule), "0F0,0B0\n1F0,1I0,1W0\n");
}

TEST(ScheduleText, RejectsOtherCellsWithTheirPlace) {
  for (const char* cell : {"F0", "0F", "0X0", "0F0x", "-1F0", "0F-1", "0SEND_F1", "99999999F0"}) {
    const std::string text = std::string("0F0\n") + cell + "\n";
    EXPECT_THAT([&] { parse_schedule(text, "s.csv"); },
                testing::ThrowsMessage<InvalidArgument>(testing::AllOf(
                    testing::StartsWith(std::string("s.csv:2: '") + cell),
                    testing::HasSubstr("is not a pass; expected a stage, F, B, I or W"))))
        << cell;
  }
}

TEST(ScheduleText, RanksHaveEqualNumbersOfStages) {
  for (const char* text : {"", "\n\n", "0F0\n1F0,2F0\n"}) {
    EXPECT_THAT([text] { parse_schedule(text, "s.csv"); },
                testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr(
                    "must have a line for each rank and equally many stages on each")))
        << text;
  }
}

TEST(ScheduleText, RejectsSchedulesThatAreTooLarge) {
  EXPECT_THAT([] { parse_schedule("65000F65000\n", "s.csv"); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("their product must be at most 4194304")));
}

TEST(ScheduleText, NumbersAreBelow65536) {
  EXPECT_EQ(parse_schedule("0F65535\n", "s.csv").sizes.microbatches, 65536);
  EXPECT_THROW(parse_schedule("0F65536\n", "s.csv"), InvalidArgument);
}

TEST(ScheduleText, NoMoreThanFourMillionPassesAreRead) {
  std::string text;
  for (int i = 0; i <= 1 << 22; ++i) text += "0F0,";
  EXPECT_THROW(parse_schedule(text, "s.csv"), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
