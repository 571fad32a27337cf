// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gang::harness {

// The candidate nearest to `text`, as " (did you mean 'all_reduce'?)"; "" if none is near.
std::string suggestion(std::string_view text, const std::vector<std::string>& candidates);

// "'x' is unknown (did you mean 'y'?); must be one of: y, z": the end of an error about a name. At
// most 24 candidates are listed, then "...".
std::string unknown_name(std::string_view text, const std::vector<std::string>& candidates);

// The same for the table of an enum (gang/enum_names.h).
template <typename Table>
  requires requires(const Table& table) { table[0].name; }
std::string unknown_name(std::string_view text, const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return unknown_name(text, names);
}

}  // namespace gang::harness
