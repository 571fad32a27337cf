#include "gang/data_type.h"

#include "gang/enum_names.h"

namespace gang {
namespace {

constexpr auto names = names_in_order<DataType>("bool", "u8", "i8", "i32", "u32", "i64", "u64",
                                                "f16", "bf16", "f32", "f64");

}  // namespace

std::string_view to_string(DataType type) noexcept { return name_of(names, type); }

std::optional<DataType> parse_data_type(std::string_view text) noexcept {
  return parse_name(names, text);
}

}  // namespace gang
