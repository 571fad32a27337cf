#include "gang/json_number.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(JsonNumber, IsAnyThatFits) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(number_from<int>(json(-3)), -3);
  EXPECT_EQ(number_from<int>(json(2'147'483'647)), 2'147'483'647);
  EXPECT_EQ(number_from<std::int64_t>(json(least)), least);
  EXPECT_EQ(number_from<std::uint64_t>(json(most)), most);
}

TEST(JsonNumber, IsNothingElse) {
  for (const char* text : {"2147483648", "-2147483649", "18446744073709551615", "1e300", "1.0",
                           "-0.5", "true", "null", R"("1")", "[1]", "{}"})
    EXPECT_THROW(number_from<int>(json::parse(text)), json::exception) << text;
  EXPECT_THROW(number_from<std::uint64_t>(json(-1)), json::exception);
  EXPECT_THROW(number_from<std::int64_t>(json(std::uint64_t{1} << 63)), json::exception);
}

TEST(JsonNumber, OfAListAllFit) {
  EXPECT_THAT(numbers_from<int>(json::parse("[3, -1, 0]")), ElementsAre(3, -1, 0));
  EXPECT_THAT(numbers_from<int>(json::parse("[]")), IsEmpty());
  for (const char* text : {"[3, 1e300]", "[2147483648]", R"({"a": 1})", "1", "null"})
    EXPECT_THROW(numbers_from<int>(json::parse(text)), json::exception) << text;
}

TEST(JsonValue, HasWholeNumbersThatFit) {
  EXPECT_EQ(value_from<std::uint8_t>(json(255)), 255);
  EXPECT_THROW(value_from<std::uint8_t>(json(256)), json::exception);
  EXPECT_THROW(value_from<std::vector<std::uint8_t>>(json::parse("[256]")), json::exception);
  EXPECT_EQ(value_from<double>(json(1)), 1.0);
  EXPECT_TRUE(value_from<bool>(json(true)));
  EXPECT_EQ(value_from<std::string>(json("1e300")), "1e300");
  EXPECT_THAT(value_from<std::vector<double>>(json::parse("[1, 0.5]")), ElementsAre(1, 0.5));
}

}  // namespace
}  // namespace gang
