// The names of an enum's values: one table per enum, read both ways.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace gang {

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

// The table of an enum whose enumerators count from 0, named in their order.
template <typename Enum, typename... Names>
constexpr std::array<EnumName<Enum>, sizeof...(Names)> names_in_order(Names... names) noexcept {
  std::size_t index = 0;
  return {{EnumName<Enum>{static_cast<Enum>(index++), names}...}};
}

// The name of `value`; empty where the table lacks it.
template <typename Enum, std::size_t count>
constexpr std::string_view name_of(const std::array<EnumName<Enum>, count>& names,
                                   std::type_identity_t<Enum> value) noexcept {
  for (const EnumName<Enum>& entry : names)
    if (entry.value == value) return entry.name;
  return {};
}

// The value called `name`; none for any other text.
template <typename Enum, std::size_t count>
constexpr std::optional<Enum> parse_name(const std::array<EnumName<Enum>, count>& names,
                                         std::string_view name) noexcept {
  for (const EnumName<Enum>& entry : names)
    if (entry.name == name) return entry.value;
  return std::nullopt;
}

// "complete, failed, pending": what a choice among words offers.
template <typename Enum, std::size_t count>
std::string list_names(const std::array<EnumName<Enum>, count>& names) {
  std::string list;
  for (const EnumName<Enum>& entry : names) {
    if (!list.empty()) list += ", ";
    list += entry.name;
  }
  return list;
}

}  // namespace gang
