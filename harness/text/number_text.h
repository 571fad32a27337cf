// Numbers as people write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {

// The number that the whole of `text` stands for; none for any other text.
template <typename T>
std::optional<T> parse_number(std::string_view text) noexcept {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional{number} : std::nullopt;
}

// The same of 16 digits or fewer, as to_hex writes them.
inline std::optional<std::uint64_t> parse_hex(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, 16);
  return error == std::errc{} && stop == end ? std::optional{number} : std::nullopt;
}

// 1234567 as "1,234,567".
inline std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3;) digits.insert(place -= 3, 1, ',');
  return digits;
}

// "1 run", "1,000 runs".
inline std::string grouped(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

// A number from `least` to `most`. Throws InvalidArgument: "--jobs is '0'; must be 1 to 256".
template <typename T>
T parse_number(std::string_view name, std::string_view text, T least, T most) {
  const std::optional<T> number = parse_number<T>(text);
  if (number && *number >= least && *number <= most) return *number;
  throw InvalidArgument(fmt::format("{} is '{}'; must be {} to {}", name, text, least, most));
}

}  // namespace gang::harness
