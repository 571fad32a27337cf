// Element types of tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace gang {

enum class DataType : std::uint8_t { boolean, u8, i8, i32, u32, i64, u64, f16, bf16, f32, f64 };

inline constexpr std::array all_data_types = {
    DataType::boolean, DataType::u8,  DataType::i8,   DataType::i32, DataType::u32, DataType::i64,
    DataType::u64,     DataType::f16, DataType::bf16, DataType::f32, DataType::f64};

// By type, in bytes.
inline constexpr std::array<std::uint8_t, all_data_types.size()> element_sizes = {1, 1, 1, 4, 4, 8,
                                                                                  8, 2, 2, 4, 8};

// Bytes of one element.
constexpr std::size_t size_bytes(DataType type) noexcept {
  return element_sizes[static_cast<std::size_t>(type)];
}

constexpr bool is_floating_point(DataType type) noexcept { return type >= DataType::f16; }

// "bool", "u8", ..., "f64": the names in program files, messages and JSON.
std::string_view to_string(DataType type) noexcept;

// The inverse of to_string; none for any other text.
std::optional<DataType> parse_data_type(std::string_view text) noexcept;

// DataTypeOf<T>::value is the data type of C++ type T. Eigen's half and bfloat16 are in
// "gang/half.h".
template <typename T>
struct DataTypeOf;
template <>
struct DataTypeOf<bool> : std::integral_constant<DataType, DataType::boolean> {};
template <>
struct DataTypeOf<std::uint8_t> : std::integral_constant<DataType, DataType::u8> {};
template <>
struct DataTypeOf<std::int8_t> : std::integral_constant<DataType, DataType::i8> {};
template <>
struct DataTypeOf<std::int32_t> : std::integral_constant<DataType, DataType::i32> {};
template <>
struct DataTypeOf<std::uint32_t> : std::integral_constant<DataType, DataType::u32> {};
template <>
struct DataTypeOf<std::int64_t> : std::integral_constant<DataType, DataType::i64> {};
template <>
struct DataTypeOf<std::uint64_t> : std::integral_constant<DataType, DataType::u64> {};
template <>
struct DataTypeOf<float> : std::integral_constant<DataType, DataType::f32> {};
template <>
struct DataTypeOf<double> : std::integral_constant<DataType, DataType::f64> {};

}  // namespace gang
