// f16 and bf16 for the reduction loops, without branches, so that compilers can vectorise them.
#pragma once

#include <bit>
#include <cstdint>

namespace gang {

// IEEE 754 binary16 to f32, and back with rounding to nearest even; a NaN becomes the quiet NaN
// with its sign. All cases are computed and one is selected.
struct Binary16 {
  static constexpr std::int16_t infinity = 0x7c00;

  static constexpr float widen(std::uint16_t bits) noexcept {
    const std::uint32_t magnitude = std::uint32_t{bits & 0x7fffU} << 13;
    const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
    // Multiplying by the difference of the exponent biases makes subnormal numbers come out right.
    const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
    const std::uint32_t special = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
    return std::bit_cast<float>(finite | special | sign);
  }

  static constexpr std::uint16_t narrow(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    // Next to 1/2, the last bit of an f32 is worth that of a subnormal f16, so the addition rounds.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
    const std::uint32_t normal =
        (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    std::uint32_t result = magnitude < 0x38800000U ? subnormal : normal;
    result = magnitude >= 0x47800000U ? 0x7c00U : result;
    result = magnitude > 0x7f800000U ? 0x7e00U : result;
    return static_cast<std::uint16_t>(result | ((bits >> 16) & 0x8000U));
  }
};

// The same for bfloat16: the upper half of an f32.
struct Brain16 {
  static constexpr std::int16_t infinity = 0x7f80;

  static constexpr float widen(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }

  static constexpr std::uint16_t narrow(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const std::uint32_t nan = ((bits >> 16) & 0x8000U) | 0x7fc0U;
    return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
  }
};

// A number in `Format`, with the layout of gang::f16 or gang::bf16; every operation is performed in
// f32 and rounded once.
template <typename Format>
struct HalfNumber {
  std::uint16_t bits = 0;

  constexpr HalfNumber() noexcept = default;
  constexpr explicit HalfNumber(float value) noexcept : bits(Format::narrow(value)) {}
  constexpr explicit operator float() const noexcept { return Format::widen(bits); }

  friend constexpr HalfNumber operator+(HalfNumber a, HalfNumber b) noexcept {
    return HalfNumber(static_cast<float>(a) + static_cast<float>(b));
  }
  friend constexpr HalfNumber operator*(HalfNumber a, HalfNumber b) noexcept {
    return HalfNumber(static_cast<float>(a) * static_cast<float>(b));
  }
  constexpr bool is_nan() const noexcept { return magnitude() > Format::infinity; }

  // The smaller one: `a` if that is NaN or they are equal, and `b` if only that is NaN. Compared as
  // integers, of which a vector holds twice as many as of f32.
  static constexpr HalfNumber min(HalfNumber a, HalfNumber b) noexcept {
    return pick(a.place() <= b.place(), a, b);
  }
  static constexpr HalfNumber max(HalfNumber a, HalfNumber b) noexcept {
    return pick(b.place() <= a.place(), a, b);
  }

 private:
  constexpr std::int16_t magnitude() const noexcept {
    return static_cast<std::int16_t>(bits & 0x7fffU);
  }
  // Among all numbers, in their order; both zeros have the same.
  constexpr std::int16_t place() const noexcept {
    const auto sign = static_cast<std::int16_t>(static_cast<std::int16_t>(bits) >> 15);
    return static_cast<std::int16_t>((magnitude() ^ sign) - sign);
  }
  // No branches or references, which would keep compilers from vectorising.
  static constexpr HalfNumber pick(bool is_first, HalfNumber a, HalfNumber b) noexcept {
    HalfNumber picked;
    picked.bits = (is_first & !b.is_nan()) | a.is_nan() ? a.bits : b.bits;
    return picked;
  }
};

}  // namespace gang
