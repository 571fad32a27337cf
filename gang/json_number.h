// Whole numbers in JSON that somebody else has written.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace gang {

// nlohmann-json's own conversions take any number: one that does not fit wraps, or is undefined
// behaviour. Throws nlohmann::json::exception, as its access to what is missing does, unless
// `value` is a whole number that a Number can hold.
template <std::integral Number>
Number number_from(const nlohmann::json& value) {
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<Number>(value.get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<Number>(value.get<std::int64_t>());
  if (!fits)
    throw nlohmann::json::out_of_range::create(406, "not a whole number that is expected", &value);
  return value.get<Number>();
}

// The same for a list of numbers.
template <std::integral Number>
std::vector<Number> numbers_from(const nlohmann::json& value) {
  std::vector<Number> numbers;
  for (const nlohmann::json& each : value.get_ref<const nlohmann::json::array_t&>())
    numbers.push_back(number_from<Number>(each));
  return numbers;
}

template <typename T>
inline constexpr bool is_list_of_whole_numbers = false;
template <std::integral Number>
inline constexpr bool is_list_of_whole_numbers<std::vector<Number>> = !std::same_as<Number, bool>;

// As nlohmann-json's conversion to T, except that whole numbers, alone or in a list, have to fit.
template <typename T>
T value_from(const nlohmann::json& value) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>)
    return number_from<T>(value);
  else if constexpr (is_list_of_whole_numbers<T>)
    return numbers_from<typename T::value_type>(value);
  else
    return value.template get<T>();
}

}  // namespace gang
