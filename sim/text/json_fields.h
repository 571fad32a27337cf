// Reading fields of JSON objects with errors that name them; writing arrays.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/enum_names.h"
#include "gang/error.h"
#include "gang/json_number.h"

namespace gang::sim {

// "a string", "an array", "nothing": what a JSON value is.
inline std::string json_type_text(const nlohmann::json& json) {
  if (json.is_null()) return "nothing";
  return fmt::format("{} {}", json.is_structured() ? "an" : "a", json.type_name());
}

// The same for values of type T.
template <typename T>
std::string json_type_text() {
  if constexpr (std::same_as<T, nlohmann::json>)
    return "a value";
  else
    return json_type_text(nlohmann::json(T{}));
}

// Field `name` of an object. Throws InvalidArgument if it is missing.
inline const nlohmann::json& value_field(const nlohmann::json& json, const char* name) {
  if (!json.is_object())
    throw InvalidArgument(
        fmt::format("expected an object with field {}, found {}", name, json_type_text(json)));
  const auto place = json.find(name);
  if (place == json.end()) throw InvalidArgument(fmt::format("field {} is missing", name));
  return *place;
}

// Field `name` of `json`. Throws InvalidArgument naming the field if it is missing, of another
// type, or a number that T cannot hold.
template <typename T>
T field(const nlohmann::json& json, const char* name) {
  const nlohmann::json& value = value_field(json, name);
  try {
    return value_from<T>(value);
  } catch (const nlohmann::json::exception&) {
    if constexpr (std::integral<T>)
      if (value.is_number())
        throw InvalidArgument(fmt::format("field {} is {}; must be a whole number from {} to {}",
                                          name, value.dump(), std::numeric_limits<T>::min(),
                                          std::numeric_limits<T>::max()));
    throw InvalidArgument(fmt::format("field {}: expected {}, found {}", name, json_type_text<T>(),
                                      json_type_text(value)));
  }
}

// The same where the field may be missing.
template <typename T>
std::optional<T> optional_field(const nlohmann::json& json, const char* name) {
  if (!json.contains(name)) return std::nullopt;
  return field<T>(json, name);
}

// The same for an object, in place.
inline const nlohmann::json& object_field(const nlohmann::json& json, const char* name) {
  const nlohmann::json& value = value_field(json, name);
  if (!value.is_object())
    throw InvalidArgument(
        fmt::format("field {}: expected an object, found {}", name, json_type_text(value)));
  return value;
}

// The same for an array, in place. Throws InvalidArgument naming the field.
inline const nlohmann::json& array_field(const nlohmann::json& json, const char* name) {
  const nlohmann::json& value = value_field(json, name);
  if (!value.is_array())
    throw InvalidArgument(
        fmt::format("field {}: expected an array, found {}", name, json_type_text(value)));
  return value;
}

// The same for the name of an enumerator.
template <typename Enum, std::size_t count>
Enum enum_field(const nlohmann::json& json, const char* name,
                const std::array<EnumName<Enum>, count>& names) {
  const auto text = field<std::string>(json, name);
  if (const std::optional<Enum> value = parse_name(names, text)) return *value;
  throw InvalidArgument(
      fmt::format("field {} is '{}'; must be one of: {}", name, text, list_names(names)));
}

// The same for 64 bits in hexadecimal.
inline std::uint64_t digest_field(const nlohmann::json& json, const char* name) {
  const auto text = field<std::string>(json, name);
  std::uint64_t digest = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
  if (text.empty() || error != std::errc{} || stop != end)
    throw InvalidArgument(
        fmt::format("field {} is '{}'; must be a hexadecimal number", name, text));
  return digest;
}

// Calls `read` with every element of an array. Adds the element to an InvalidArgument that it
// throws: "lanes[2]: field ranks is missing".
template <typename Read>
void read_elements(const nlohmann::json& json, const char* name, const Read& read) {
  std::size_t index = 0;
  for (const nlohmann::json& element : array_field(json, name)) {
    try {
      read(element);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}[{}]: {}", name, index, error.what()));
    }
    ++index;
  }
}

// The elements of an array, each read by `read`.
template <typename T>
std::vector<T> elements_field(const nlohmann::json& json, const char* name,
                              T (*read)(const nlohmann::json&)) {
  std::vector<T> values;
  read_elements(json, name, [&values, read](const nlohmann::json& element) {
    values.push_back(read(element));
  });
  return values;
}

// The values as an array, each written by `write`.
template <typename T>
nlohmann::json array_of(const std::vector<T>& values, nlohmann::json (*write)(const T&)) {
  nlohmann::json array = nlohmann::json::array();
  for (const T& value : values) array.push_back(write(value));
  return array;
}

}  // namespace gang::sim
