#include "harness/program/digest.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

template <typename... Parts>
std::uint64_t digest_of(const Parts&... parts) {
  Digest digest;
  (digest.add(parts), ...);
  return digest.value();
}

using namespace std::string_view_literals;

TEST(Digest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(to_hex(digest_of("gangsim"sv)), to_hex(digest_of("gangsim"sv)));
  EXPECT_EQ(to_hex(digest_of("gangsim"sv)), "501525fb81538889");
}

TEST(Digest, TellsOrderAndBordersApart) {
  EXPECT_NE(digest_of("ab"sv, "c"sv), digest_of("a"sv, "bc"sv));
  EXPECT_NE(digest_of("a"sv, "b"sv), digest_of("b"sv, "a"sv));
  EXPECT_NE(digest_of(""sv), digest_of());
  EXPECT_NE(digest_of(std::uint64_t{0}), digest_of(std::uint64_t{1}));
  EXPECT_NE(digest_of("123456789"sv), digest_of("123456780"sv));
}

TEST(ToHex, HasSixteenDigits) { EXPECT_EQ(to_hex(255), "00000000000000ff"); }

}  // namespace
}  // namespace gang::harness
