#include "harness/program_file/rank_condition.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/text/rank_ranges.h"

namespace gang::harness::program_file {
namespace {

std::string text_of(const sim::RankRange& range) {
  if (range.first == range.last) return fmt::format("rank == {}", range.first);
  const std::string within = fmt::format("rank >= {} and rank <= {}", range.first, range.last);
  if (range.stride == 1) return within;
  return fmt::format("{} and (rank - {}) % {} == 0", within, range.first, range.stride);
}

// Whether `rank` is one of `ranks`; binds as tightly as a comparison.
std::string is_among(const std::vector<int>& all, const std::vector<int>& ranks) {
  if (ranks.empty()) return "0";
  if (ranks == all) return "1";
  std::vector<int> rest;
  std::ranges::set_difference(all, ranks, std::back_inserter(rest));
  if (rest.size() == 1) return fmt::format("rank != {}", rest.front());
  const std::vector<sim::RankRange> within = sim::rank_ranges(ranks);
  const std::vector<sim::RankRange> outside = sim::rank_ranges(rest);
  const bool is_negated = outside.size() < within.size();
  std::vector<std::string> texts;
  for (const sim::RankRange& range : is_negated ? outside : within) texts.push_back(text_of(range));
  if (!is_negated && texts.size() == 1 && within.front().first == within.front().last)
    return texts.front();
  return fmt::format("{}({})", is_negated ? "not " : "", fmt::join(texts, " or "));
}

}  // namespace

std::string rank_condition(const std::vector<int>& all, const std::vector<int>& usual,
                           const std::vector<OtherRanks>& others) {
  std::vector<std::string> parts;
  std::vector<std::string> elsewhere;
  for (const OtherRanks& other : others) {
    elsewhere.push_back(fmt::format("iteration != {}", other.iteration));
    if (usual == all)  // Then the others lack some.
      parts.push_back(other.ranks.empty() ? elsewhere.back()
                                          : fmt::format("({} or {})", is_among(all, other.ranks),
                                                        elsewhere.back()));
    else if (!other.ranks.empty())
      parts.push_back(
          fmt::format("(iteration == {} and {})", other.iteration, is_among(all, other.ranks)));
  }
  if (usual == all) return fmt::format("{}", fmt::join(parts, " and "));
  if (!usual.empty()) {
    elsewhere.push_back(is_among(all, usual));
    parts.push_back(fmt::format("({})", fmt::join(elsewhere, " and ")));
  }
  return parts.empty() ? "0" : fmt::format("{}", fmt::join(parts, " or "));
}

}  // namespace gang::harness::program_file
