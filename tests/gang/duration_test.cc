#include "gang/duration.h"

#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using namespace std::chrono_literals;

TEST(Duration, TextHasTheLargestUnitThatReadsWell) {
  EXPECT_EQ(to_string(15min), "15 min");
  EXPECT_EQ(to_string(2500ms), "2.5 s");
  EXPECT_EQ(to_string(10ms), "10 ms");
  EXPECT_EQ(to_string(0ns), "0 s");
  EXPECT_EQ(to_string(1ns), "1 ns");
  EXPECT_EQ(to_string(1500ns), "1.5 us");
  EXPECT_EQ(to_string(60s), "1 min");
  EXPECT_EQ(to_string(90min), "90 min");
  EXPECT_EQ(to_string(3h), "3 h");
}

TEST(Duration, TextHasAtMostThreeDecimals) {
  EXPECT_EQ(to_string(1'234'567ns), "1.235 ms");
  EXPECT_EQ(to_string(1'000'000'001ns), "1 s");
}

TEST(Duration, NegativeOnesKeepTheirSign) { EXPECT_EQ(to_string(-5s), "-5 s"); }

TEST(Duration, NoTimeoutIsPrintedInWords) { EXPECT_EQ(to_string(no_timeout), "no timeout"); }

TEST(Duration, OperationsMayTakeFifteenMinutesUnlessToldOtherwise) {
  test::CapturingGang gang;
  EXPECT_EQ(gang.timeout(), 15min);
  gang.barrier();
  EXPECT_EQ(gang.only().operation.timeout, 15min);
}

TEST(ParseDuration, ReadsNumberAndUnit) {
  EXPECT_EQ(parse_duration("5 ms"), 5ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("15 min"), 15min);
  EXPECT_EQ(parse_duration("2 h"), 2h);
  EXPECT_EQ(parse_duration("100us"), 100us);
  EXPECT_EQ(parse_duration("7ns"), 7ns);
  EXPECT_EQ(parse_duration("none"), no_timeout);
}

TEST(ParseDuration, WholeNumbersAreExact) {
  EXPECT_EQ(parse_duration("9007199254740993ns"), Duration(9'007'199'254'740'993));
}

TEST(ParseDuration, RejectsAnythingElse) {
  for (const char* text : {"", "5", "ms", "-1s", "5 parsecs", "1e3s", "9999999999h", "nan s"}) {
    EXPECT_THROW(parse_duration(text), InvalidArgument) << text;
  }
}

TEST(ToDurationText, IsReadBackExactly) {
  for (const Duration duration :
       {Duration{0}, Duration{1}, Duration{1500ms}, Duration{15min}, Duration{25h}, no_timeout}) {
    EXPECT_EQ(parse_duration(to_duration_text(duration)), duration);
  }
  EXPECT_EQ(to_duration_text(0s), "0s");
  EXPECT_EQ(to_duration_text(1500ms), "1500ms");
  EXPECT_EQ(to_duration_text(90min), "90min");
  EXPECT_EQ(to_duration_text(25h), "25h");
  EXPECT_EQ(to_duration_text(1'000'001ns), "1000001ns");
  EXPECT_EQ(to_duration_text(no_timeout), "none");
}

TEST(DeadlineAfter, NeverComesWhereTheClockCannotReachIt) {
  EXPECT_EQ(deadline_after(1s, 2s), TimePoint(3s));
  EXPECT_EQ(deadline_after(1s, no_timeout), TimePoint::max());
  EXPECT_EQ(deadline_after(2s, no_timeout - 1s), TimePoint::max());
  EXPECT_EQ(deadline_after(1s, no_timeout - 2s), TimePoint::max() - 1s);
}

}  // namespace
}  // namespace gang
