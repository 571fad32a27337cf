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
}

template <typename Number>
Number number_of(std::uint32_t bits) {
  Number number;
  number.bits = static_cast<std::uint16_t>(bits);
  return number;
}

// Against all pairs of numbers of every kind: each exponent, both signs, zeros, infinities, NaNs.
template <typename Format>
void expect_min_and_max_as_of_f32() {
  using Number = HalfNumber<Format>;
  std::vector<Number> numbers;
  for (std::uint32_t bits = 0; bits < 0x10000; bits += 241)
    numbers.push_back(number_of<Number>(bits));
  for (const std::uint32_t bits : {0x8000U, 0x0001U, 0x8001U, std::uint32_t{Format::infinity},
                                   Format::infinity | 0x8000U, Format::infinity + 1U, 0xffffU})
    numbers.push_back(number_of<Number>(bits));
  for (const Number a : numbers) {
    EXPECT_EQ(a.is_nan(), std::isnan(static_cast<float>(a))) << a.bits;
    for (const Number b : numbers) {
      const float left = static_cast<float>(a);
      const float right = static_cast<float>(b);
      const bool is_left = std::isnan(left) || left == right;
      ASSERT_EQ(Number::min(a, b).bits, (is_left || left < right ? a : b).bits);
      ASSERT_EQ(Number::max(a, b).bits, (is_left || left > right ? a : b).bits);
    }
  }
}

TEST(HalfNumber, HasTheMinAndMaxOfF32) {
  expect_min_and_max_as_of_f32<Binary16>();
  expect_min_and_max_as_of_f32<Brain16>();
}

}  // namespace
}  // namespace gang
