#include "gang/duration.h"

#include <gtest/gtest.h>

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

TEST(Duration, NoTimeoutIsSaidInWords) { EXPECT_EQ(to_string(no_timeout), "no timeout"); }

TEST(Duration, DefaultTimeoutIsFifteenMinutes) {
  EXPECT_EQ(default_timeout, std::chrono::minutes(15));
}

}  // namespace
}  // namespace gang
