#include "gang/hash.h"

#include <string_view>

#include <gtest/gtest.h>

namespace gang {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(HashBytes, IsXxh3) {
  EXPECT_EQ(hash_bytes({}), 0x2d06800538d394c2U);
  EXPECT_NE(hash_bytes(bytes_of("a")), hash_bytes(bytes_of("b")));
  EXPECT_NE(hash_bytes(bytes_of("a"), 1), hash_bytes(bytes_of("a"), 2));
}

// Traces contain it: it may never change.
TEST(Fnv1a, IsThePublishedOne) {
  EXPECT_EQ(fnv1a({}), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a(bytes_of("a")), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a(bytes_of("b"), fnv1a(bytes_of("a"))), fnv1a(bytes_of("ab")));
}

// Seeds depend on it: it may never change.
TEST(Splitmix64, IsThePublishedOne) {
  EXPECT_EQ(splitmix64(0, 0), 0xe220a8397b1dcdafU);  // the first two numbers of seed 0
  EXPECT_EQ(splitmix64(splitmix64_step, 0), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(mixed(splitmix64_step), splitmix64(0, 0));
}

}  // namespace
}  // namespace gang
