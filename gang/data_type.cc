#include "gang/data_type.h"

namespace gang {

std::string_view to_string(DataType type) noexcept {
  switch (type) {
    case DataType::boolean:
      return "bool";
    case DataType::u8:
      return "u8";
    case DataType::i8:
      return "i8";
    case DataType::i32:
      return "i32";
    case DataType::u32:
      return "u32";
    case DataType::i64:
      return "i64";
    case DataType::u64:
      return "u64";
    case DataType::f16:
      return "f16";
    case DataType::bf16:
      return "bf16";
    case DataType::f32:
      return "f32";
    case DataType::f64:
      return "f64";
  }
  return "unknown";
}

std::optional<DataType> parse_data_type(std::string_view text) noexcept {
  for (const DataType type : all_data_types)
    if (to_string(type) == text) return type;
  return std::nullopt;
}

}  // namespace gang
