#include "harness/recording/json_dump_reader.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/recording/dump_error.h"

namespace gang::harness {
namespace {

TEST(JsonDumpReader, KeepsMapsListsAndTheirOrder) {
  const ValueTree tree = read_json_values(R"({"b": [1, -2, "x"], "a": {"c": null, "d": true}})");
  const auto items = tree.items(tree.root());
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(std::get<std::string_view>(items[0]), "b");
  const auto list = tree.items(items[1]);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(std::get<std::int64_t>(list[1]), -2);
  EXPECT_EQ(std::get<std::string_view>(list[2]), "x");
  const ValueTree::Value* flag = tree.find(items[3], "d");
  ASSERT_NE(flag, nullptr);
  EXPECT_TRUE(std::get<bool>(*flag));
}

TEST(JsonDumpReader, AFileThatEndsTooEarlyIsCutOff) {
  const std::string whole = R"({"a": [1, {"b": "c"}]})";
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THROW(read_json_values(whole.substr(0, size)), CutOffDump) << size;
}

TEST(JsonDumpReader, SaysWhereItIsWrong) {
  try {
    read_json_values(R"({"a": [1, }]})");
    FAIL();
  } catch (const CutOffDump& error) {
    FAIL() << error.what();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "it is not JSON from byte 10 on");
  }
  EXPECT_THROW(read_json_values(R"({"a": 18446744073709551615})"), InvalidArgument);
}

TEST(JsonDumpReader, TheGreatestNumberIsThatOf64Bits) {
  const ValueTree tree = read_json_values(R"({"a": 9223372036854775807})");
  EXPECT_EQ(std::get<std::int64_t>(*tree.find(tree.root(), "a")),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(read_json_values(R"({"a": 9223372036854775808})"), InvalidArgument);
}

TEST(JsonDumpReader, NestingIsNoRecursion) {
  constexpr std::size_t depth = 200'000;
  const std::string bytes = R"({"a": )" + std::string(depth, '[') + std::string(depth, ']') + "}";
  EXPECT_NO_THROW(read_json_values(bytes));
}

TEST(JsonDumpReader, AWrongLastByteIsNoCutOff) {
  try {
    read_json_values(R"({"a": 1])");
    FAIL();
  } catch (const CutOffDump& error) {
    FAIL() << error.what();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "it is not JSON from byte 7 on");
  }
}

TEST(JsonDumpReader, SpaceMayComeFirst) {
  EXPECT_TRUE(looks_like_json(" \r\n\t{}"));
  EXPECT_FALSE(looks_like_json("  []"));
  EXPECT_FALSE(looks_like_json("  "));
}

}  // namespace
}  // namespace gang::harness
