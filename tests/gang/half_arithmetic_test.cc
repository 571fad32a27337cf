#include "gang/half_arithmetic.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "gang/half.h"

namespace gang {
namespace {

// As Eigen does it, with which programs compute.
template <typename T, typename Format>
struct Pair {
  using Type = T;
  static float widened_by_eigen(std::uint16_t bits) {
    return static_cast<float>(std::bit_cast<T>(bits));
  }
  static std::uint16_t narrowed_by_eigen(float value) {
    return std::bit_cast<std::uint16_t>(static_cast<T>(value));
  }
  static float widened(std::uint16_t bits) { return Format::widen(bits); }
  static std::uint16_t narrowed(float value) { return Format::narrow(value); }
};

template <typename T>
class HalfArithmetic : public testing::Test {};

using Pairs = testing::Types<Pair<f16, Binary16>, Pair<bf16, Brain16>>;
TYPED_TEST_SUITE(HalfArithmetic, Pairs);

TYPED_TEST(HalfArithmetic, WidensEveryNumberAsEigenDoes) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(TypeParam::widened(half)),
              std::bit_cast<std::uint32_t>(TypeParam::widened_by_eigen(half)))
        << std::hex << bits;
  }
}

// Every number, the values between it and the next, and both sides of each rounding boundary.
TYPED_TEST(HalfArithmetic, NarrowsAsEigenDoes) {
  const auto expect_alike = [](std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    ASSERT_EQ(TypeParam::narrowed(value), TypeParam::narrowed_by_eigen(value)) << std::hex << bits;
  };
  for (std::uint32_t upper = 0; upper <= 0x7ffff; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x1fffU})
      expect_alike(upper << 13 | lower);
}

TYPED_TEST(HalfArithmetic, ANanStaysOne) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(TypeParam::widened(TypeParam::narrowed(nan))));
  EXPECT_TRUE(std::isnan(TypeParam::widened(TypeParam::narrowed(-nan))));
}

TEST(HalfNumber, RoundsEachOperationOnce) {
  using Number = HalfNumber<Binary16>;
  const Number one(1.0F);
  const Number half_of_the_last_bit(0x1p-11F);
  EXPECT_EQ(static_cast<float>(one + half_of_the_last_bit), 1.0F);
  EXPECT_EQ(static_cast<float>(one + half_of_the_last_bit + half_of_the_last_bit), 1.0F);
  EXPECT_EQ(static_cast<float>(Number(300.0F) * Number(300.0F)),
            std::numeric_limits<float>::infinity());
  EXPECT_LT(one, Number(2.0F));
  EXPECT_NE(one, half_of_the_last_bit);
}

}  // namespace
}  // namespace gang
