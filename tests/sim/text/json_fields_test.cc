#include "sim/text/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string error_of(const char* text) {
  try {
    field<int>(json::parse(text), "rank");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(JsonFields, OfWholeNumbersHoldWhatFits) {
  EXPECT_EQ(field<int>(json::parse(R"({"rank": -3})"), "rank"), -3);
  EXPECT_EQ(error_of(R"({"rank": 4294967296})"),
            "field rank is 4294967296; must be a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(error_of(R"({"rank": 1e300})"),
            "field rank is 1e+300; must be a whole number from -2147483648 to 2147483647");
  EXPECT_EQ(error_of(R"({"rank": "3"})"), "field rank: expected a number, found a string");
  EXPECT_EQ(error_of(R"({"rank": true})"), "field rank: expected a number, found a boolean");
  EXPECT_EQ(error_of("{}"), "field rank is missing");
  EXPECT_THROW(field<std::uint64_t>(json::parse(R"({"count": -1})"), "count"), InvalidArgument);
}

TEST(JsonFields, OfListsHoldWhatFits) {
  const auto ranks = [](const char* text) {
    return field<std::vector<int>>(json::parse(text), "ranks");
  };
  EXPECT_THAT(ranks(R"({"ranks": [3, 1]})"), ElementsAre(3, 1));
  for (const char* text :
       {R"({"ranks": [4294967296]})", R"({"ranks": [1, 1e300]})", R"({"ranks": 1})"})
    EXPECT_THROW(ranks(text), InvalidArgument) << text;
}

TEST(JsonFields, OfOtherTypesAreAsTheyAre) {
  const json values = json::parse(R"({"share": 1, "on": false, "name": "dp"})");
  EXPECT_EQ(field<double>(values, "share"), 1.0);
  EXPECT_FALSE(field<bool>(values, "on"));
  EXPECT_EQ(field<std::string>(values, "name"), "dp");
}

}  // namespace
}  // namespace gang::sim
