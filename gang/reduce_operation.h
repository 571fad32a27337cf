// How a reduction combines two elements.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gang/data_type.h"

namespace gang {

// `mean` of floating-point values multiplies each by 1/s rounded to the type, then sums; `mean` of
// integers sums with wrap-around, then divides truncating toward zero (s: the gang's size).
enum class ReduceOperation : std::uint8_t {
  sum,
  mean,
  product,
  min,
  max,
  bitwise_and,
  bitwise_or,
  bitwise_xor
};

// Of a call that was recorded without it. Never that of an operation with data.
inline constexpr auto unknown_reduce_operation = static_cast<ReduceOperation>(255);

inline constexpr std::array all_reduce_operations = {
    ReduceOperation::sum,        ReduceOperation::mean,       ReduceOperation::product,
    ReduceOperation::min,        ReduceOperation::max,        ReduceOperation::bitwise_and,
    ReduceOperation::bitwise_or, ReduceOperation::bitwise_xor};

// Whether `operation` is defined for `type`: bitwise operations only on integers and bool; sum,
// mean and product not on bool; everything else always.
constexpr bool is_defined(ReduceOperation operation, DataType type) noexcept {
  if (operation >= ReduceOperation::bitwise_and) return !is_floating_point(type);
  if (operation <= ReduceOperation::product) return type != DataType::boolean;
  return true;
}

// "sum", "mean", "product", "min", "max", "band", "bor", "bxor".
std::string_view to_string(ReduceOperation operation) noexcept;

// The inverse of to_string; none for any other text.
std::optional<ReduceOperation> parse_reduce_operation(std::string_view text) noexcept;

}  // namespace gang
