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

}  // namespace gang::sim
