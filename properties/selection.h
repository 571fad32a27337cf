// Choosing properties by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/property.h"

namespace gang::properties {

// Whether `text` matches `pattern`, in which '*' stands for any characters and '?' for any one.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

// The properties whose full name or suite matches one of `filters`, in their order; all of them
// without filters. A filter may hold several patterns, separated by commas. Throws InvalidArgument
// if a pattern matches nothing, and names the nearest properties.
std::vector<Property> select(const std::vector<Property>& properties,
                             const std::vector<std::string>& filters);

}  // namespace gang::properties
