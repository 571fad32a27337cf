// Reading fields of JSON objects with errors that name them.
#pragma once

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::sim {

// Field `name` of `json`. Throws InvalidArgument naming the field if it is missing or of another
// type.
template <typename T>
T field(const nlohmann::json& json, const char* name) {
  if (!json.is_object())
    throw InvalidArgument(
        fmt::format("an object with field {} was expected; found is {}", name, json.type_name()));
  const auto place = json.find(name);
  if (place == json.end()) throw InvalidArgument(fmt::format("field {} is missing", name));
  try {
    return place->template get<T>();
  } catch (const nlohmann::json::exception&) {
    throw InvalidArgument(
        fmt::format("field {} has the wrong type: found is {}", name, place->type_name()));
  }
}

// The same for an array, in place. Throws InvalidArgument naming the field.
inline const nlohmann::json& array_field(const nlohmann::json& json, const char* name) {
  if (!json.is_object())
    throw InvalidArgument(
        fmt::format("an object with field {} was expected; found is {}", name, json.type_name()));
  const auto place = json.find(name);
  if (place == json.end()) throw InvalidArgument(fmt::format("field {} is missing", name));
  if (!place->is_array())
    throw InvalidArgument(
        fmt::format("field {} has the wrong type: found is {}", name, place->type_name()));
  return *place;
}

// Calls `read` with every element of an array. What it throws as InvalidArgument is told with the
// element: "lanes[2]: field ranks is missing".
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

}  // namespace gang::sim
