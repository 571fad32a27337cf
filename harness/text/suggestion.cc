#include "harness/text/suggestion.h"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace gang::harness {
namespace {

// Levenshtein's distance.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view text, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  std::size_t best_edits = std::max<std::size_t>(text.size() < 3 ? 1 : 2, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = edits_between(text, candidate);
    if (edits < best_edits) {
      best = &candidate;
      best_edits = edits;
    }
  }
  return best == nullptr ? "" : fmt::format(" (did you mean '{}'?)", *best);
}

std::string unknown_name(std::string_view text, const std::vector<std::string>& candidates) {
  constexpr std::size_t most = 24;
  if (candidates.empty()) return fmt::format("'{}' is unknown; there are none", text);
  const auto shown = std::span(candidates).first(std::min(most, candidates.size()));
  return fmt::format("'{}' is unknown{}; must be one of: {}{}", text, suggestion(text, candidates),
                     fmt::join(shown, ", "), candidates.size() > most ? ", ..." : "");
}

}  // namespace gang::harness
