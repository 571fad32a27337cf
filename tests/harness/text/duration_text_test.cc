#include "harness/text/duration_text.h"

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, ReadsNumberAndUnit) {
  EXPECT_EQ(parse_duration("5 ms"), 5ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("15 min"), 15min);
  EXPECT_EQ(parse_duration("7ns"), 7ns);
  EXPECT_EQ(parse_duration("none"), no_timeout);
}

TEST(ParseDuration, SaysWhatIsAccepted) {
  for (const char* text : {"", "5", "ms", "-1s", "5 parsecs", "1e3s", "9999999999h", "nan s"}) {
    EXPECT_THROW(parse_duration(text), InvalidArgument) << text;
  }
}

TEST(ToDurationText, IsReadBackExactly) {
  for (const Duration duration :
       {Duration{0}, Duration{1}, Duration{1500ms}, Duration{15min}, Duration{25h}, no_timeout}) {
    EXPECT_EQ(parse_duration(to_duration_text(duration)), duration);
  }
  EXPECT_EQ(to_duration_text(1500ms), "1500ms");
}

}  // namespace
}  // namespace gang::harness
