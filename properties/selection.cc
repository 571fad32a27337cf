#include "properties/selection.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/text/suggestion.h"

namespace gang::properties {
namespace {

std::vector<std::string> split_at_commas(const std::vector<std::string>& filters) {
  std::vector<std::string> patterns;
  for (const std::string& filter : filters) {
    for (std::size_t first = 0; first <= filter.size();) {
      const std::size_t comma = std::min(filter.find(',', first), filter.size());
      patterns.push_back(filter.substr(first, comma - first));
      first = comma + 1;
    }
  }
  return patterns;
}

bool matches(const std::string& pattern, const Property& property) {
  return matches_glob(pattern, property.full_name()) || matches_glob(pattern, property.suite) ||
         matches_glob(pattern, property.name);
}

// Suggests the suites, else the properties, that a pattern which matches nothing may have meant.
[[noreturn]] void reject(const std::string& pattern, const std::vector<Property>& properties) {
  std::vector<std::string> names;
  for (const Property& property : properties)
    if (std::ranges::find(names, property.suite) == names.end()) names.push_back(property.suite);
  std::string near = harness::suggestion(pattern, names);
  if (near.empty()) {
    std::vector<std::string> full_names;
    for (const Property& property : properties) {
      full_names.push_back(property.full_name());
      full_names.push_back(property.name);
    }
    near = harness::suggestion(pattern, full_names);
  }
  throw InvalidArgument(
      fmt::format("no property matches '{}'{}; suites: {}; 'check --list' lists the properties",
                  pattern, near, fmt::join(names, ", ")));
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last '*', and where its match ends for now
  std::size_t matched = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      matched = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++matched;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<Property> select(const std::vector<Property>& properties,
                             const std::vector<std::string>& filters) {
  const std::vector<std::string> patterns = split_at_commas(filters);
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(properties,
                             [&](const Property& one) { return matches(pattern, one); }))
      reject(pattern, properties);
  std::vector<Property> selected;
  for (const Property& property : properties) {
    if (patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
          return matches(pattern, property);
        }))
      selected.push_back(property);
  }
  return selected;
}

}  // namespace gang::properties
