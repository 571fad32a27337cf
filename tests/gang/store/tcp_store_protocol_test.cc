#include "gang/store/tcp_store_protocol.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/store/recorded_sessions.h"

namespace gang {
namespace {

using Bytes = std::vector<std::byte>;
using enum TcpStoreCommand;

Bytes value(std::string_view text) {
  const std::span bytes = as_store_bytes(text);
  return {bytes.begin(), bytes.end()};
}

Bytes encoded(const TcpStoreRequest& request, TcpStoreDialect dialect) {
  Bytes out;
  encode(request, dialect, out);
  return out;
}

// What the clients of the recorded sessions were asked to do.
const std::vector<TcpStoreRequest>& requests() {
  static const std::vector<TcpStoreRequest> all = {
      {set, {"/a"}, {value("value")}},
      {wait, {"/a"}},
      {get, {"/a"}},
      {add, {"/n"}, {}, 5},
      {add, {"/n"}, {}, -7},
      {compare_set, {"/c"}, {value(""), value("first")}},
      {compare_set, {"/c"}, {value("first"), value("second")}},
      {compare_set, {"/c"}, {value("first"), value("x")}},
      {compare_set, {"/miss"}, {value("e"), value("x")}},
  };
  return all;
}

TEST(TcpStoreProtocol, RequestsAreThoseThatPyTorch1_13Sends) {
  for (std::size_t i = 0; i < requests().size(); ++i)
    EXPECT_EQ(encoded(requests()[i], TcpStoreDialect::pytorch_1_13),
              bytes_of_hexadecimal(session_of_1_13[i].sent))
        << i;
}

TEST(TcpStoreProtocol, RequestsAreThoseThatPyTorch2Sends) {
  Bytes greeting = encoded({validate}, TcpStoreDialect::pytorch_2);
  encode({.command = ping, .number = 0x71ea}, TcpStoreDialect::pytorch_2, greeting);
  EXPECT_EQ(greeting, bytes_of_hexadecimal(session_of_2[0].sent));
  for (std::size_t i = 0; i < requests().size(); ++i)
    EXPECT_EQ(encoded(requests()[i], TcpStoreDialect::pytorch_2),
              bytes_of_hexadecimal(session_of_2[i + 1].sent))
        << i;
}

TEST(TcpStoreProtocol, RequestsOnlyIn2AreThoseThatItSends) {
  EXPECT_EQ(encoded({append, {"/ap"}, {value("yz")}}, TcpStoreDialect::pytorch_2),
            bytes_of_hexadecimal(session_of_2[17].sent));
  EXPECT_EQ(
      encoded({multi_set, {"/m1", "/m2"}, {value("1"), value("2")}}, TcpStoreDialect::pytorch_2),
      bytes_of_hexadecimal(session_of_2[18].sent));
  EXPECT_EQ(encoded({multi_get, {"/m1", "/ap"}}, TcpStoreDialect::pytorch_2),
            bytes_of_hexadecimal(session_of_2[20].sent));
  EXPECT_EQ(encoded({cancel_wait}, TcpStoreDialect::pytorch_2),
            bytes_of_hexadecimal(session_of_2[22].sent));
}

TEST(TcpStoreProtocol, WhatADialectLacksIsNotSupported) {
  for (const TcpStoreCommand command : {validate, append, multi_get, multi_set, cancel_wait, ping})
    EXPECT_THROW(encoded({command, {"/a"}, {value("1")}}, TcpStoreDialect::pytorch_1_13),
                 NotSupported);
  EXPECT_THAT([] { encoded({append, {"/a"}, {value("1")}}, TcpStoreDialect::pytorch_1_13); },
              testing::ThrowsMessage<NotSupported>(testing::HasSubstr(
                  "append: the store's server speaks the dialect of PyTorch 1.13, which lacks this "
                  "command")));
}

TEST(TcpStoreProtocol, EveryNumberIsOneCommand) {
  for (const auto dialect : {TcpStoreDialect::pytorch_1_13, TcpStoreDialect::pytorch_2}) {
    std::set<TcpStoreCommand> found;
    for (int code = 0; code < 256; ++code) {
      const auto* layout = find_layout(static_cast<std::uint8_t>(code), dialect);
      if (layout == nullptr) continue;
      EXPECT_TRUE(found.insert(layout->command).second) << layout->name;
    }
    EXPECT_EQ(found.size(), dialect == TcpStoreDialect::pytorch_2 ? 14U : 8U);
  }
}

TEST(TcpStoreProtocol, OnlyDeleteKeyHasOneNumberInBoth) {
  for (int i = 0; i <= static_cast<int>(ping); ++i) {
    const TcpStoreLayout& layout = wire_layout_of(static_cast<TcpStoreCommand>(i));
    EXPECT_EQ(layout.code_1_13 == layout.code_2, layout.command == delete_key) << layout.name;
    EXPECT_EQ(to_string(static_cast<TcpStoreCommand>(i)), layout.name);
  }
}

TEST(TcpStoreProtocol, IntegersAreLittleEndianAndReadBack) {
  Bytes out;
  encode_u64(0x0102030405060708, out);
  EXPECT_EQ(out, bytes_of_hexadecimal("0807060504030201"));
  EXPECT_EQ(decode_u64(std::span<const std::byte, 8>(out)), 0x0102030405060708U);
  out.clear();
  encode_u32(std::numeric_limits<std::uint32_t>::max() - 1, out);
  EXPECT_EQ(out, bytes_of_hexadecimal("feffffff"));
  EXPECT_EQ(decode_u32(std::span<const std::byte, 4>(out)), 0xfffffffeU);
}

TEST(TcpStoreProtocol, DialectsHaveNames) {
  EXPECT_EQ(to_string(TcpStoreDialect::automatic), "automatic");
  EXPECT_EQ(to_string(TcpStoreDialect::pytorch_1_13), "PyTorch 1.13");
  EXPECT_EQ(to_string(TcpStoreDialect::pytorch_2), "PyTorch 2");
}

}  // namespace
}  // namespace gang
