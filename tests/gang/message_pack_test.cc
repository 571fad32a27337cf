#include "gang/message_pack.h"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gang {
namespace {

using nlohmann::json;

std::vector<std::byte> packed(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_msgpack(value);
  const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

// As many lists within each other.
std::vector<std::byte> nested_lists(std::size_t depth) {
  std::vector<std::byte> bytes(depth, std::byte{0x91});
  bytes.push_back(std::byte{0xc0});
  return bytes;
}

// As many maps within each other.
std::vector<std::byte> nested_maps(std::size_t depth) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < depth; ++i)
    for (const unsigned byte : {0x81U, 0xa1U, 0x61U}) bytes.push_back(static_cast<std::byte>(byte));
  bytes.push_back(std::byte{0xc0});
  return bytes;
}

TEST(ParseMessagePack, ReadsOneValue) {
  const json value = {{"a", {1, -2, 0.5, nullptr, true, "text"}}, {"b", json::binary({0, 255})}};
  EXPECT_EQ(parse_message_pack(packed(value)), value);
  EXPECT_EQ(parse_message_pack(packed(nullptr)), json(nullptr));
}

TEST(ParseMessagePack, AnythingElseIsNone) {
  EXPECT_EQ(parse_message_pack({}), std::nullopt);
  std::vector<std::byte> bytes = packed({1, 2});
  bytes.pop_back();
  EXPECT_EQ(parse_message_pack(bytes), std::nullopt);
  bytes = packed({1, 2});
  bytes.push_back(std::byte{0});
  EXPECT_EQ(parse_message_pack(bytes), std::nullopt);
  EXPECT_EQ(parse_message_pack(std::vector(1, std::byte{0xc1})), std::nullopt);
}

// A megabyte of it would overflow any stack.
TEST(ParseMessagePack, ValuesAreNestedOnlySoDeeply) {
  EXPECT_TRUE(parse_message_pack(nested_lists(deepest_nesting)));
  EXPECT_TRUE(parse_message_pack(nested_maps(deepest_nesting)));
  for (const std::size_t depth : {std::size_t{deepest_nesting} + 1, std::size_t{1'000'000}}) {
    EXPECT_EQ(parse_message_pack(nested_lists(depth)), std::nullopt);
    EXPECT_EQ(parse_message_pack(nested_maps(depth)), std::nullopt);
  }
}

TEST(ParseMessagePack, ListsBesideEachOtherAreNotNested) {
  json lists = json::array();
  for (int i = 0; i < 1000; ++i) lists.push_back(json::array({json::object()}));
  EXPECT_EQ(parse_message_pack(packed(lists)), lists);
}

}  // namespace
}  // namespace gang
