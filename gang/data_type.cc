#include "gang/data_type.h"

#include "gang/enum_names.h"

namespace gang {
namespace {

constexpr std::array<std::string_view, all_data_types.size()> names = {
    "bool", "u8", "i8", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"};

}  // namespace

std::string_view to_string(DataType type) noexcept { return enum_name(names, type); }

std::optional<DataType> parse_data_type(std::string_view text) noexcept {
  return find_enum<DataType>(names, text);
}

}  // namespace gang
