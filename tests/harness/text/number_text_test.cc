#include "harness/text/number_text.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(NumberText, DigitsAreGroupedByThree) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(123'456), "123,456");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(NumberText, OnlyOneIsSingular) {
  EXPECT_EQ(grouped(0, "run"), "0 runs");
  EXPECT_EQ(grouped(1, "run"), "1 run");
  EXPECT_EQ(grouped(2, "run"), "2 runs");
  EXPECT_EQ(grouped(1'000, "run"), "1,000 runs");
}

TEST(NumberText, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "+1", "0x1", "2147483648", "1.5"})
    EXPECT_FALSE(parse_number<int>(text)) << text;
  EXPECT_EQ(parse_hex("ff"), 255U);
  EXPECT_EQ(parse_hex("ffffffffffffffff"), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", "0x1", "g", "1 ", "10000000000000000"})
    EXPECT_FALSE(parse_hex(text)) << text;
}

TEST(NumberText, ANumberOutOfRangeIsRefusedWithItsNameAndWhatIsAccepted) {
  EXPECT_EQ(parse_number("--jobs", "1", 1, 256), 1);
  EXPECT_EQ(parse_number("--jobs", "256", 1, 256), 256);
  for (const char* text : {"0", "257", "many"}) {
    try {
      parse_number("--jobs", text, 1, 256);
      ADD_FAILURE() << text;
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.what(), "--jobs is '" + std::string(text) + "'; must be 1 to 256");
    }
  }
}

}  // namespace
}  // namespace gang::harness
