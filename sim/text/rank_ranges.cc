#include "sim/text/rank_ranges.h"

#include <fmt/format.h>

namespace gang::sim {

std::vector<RankRange> rank_ranges(const std::vector<int>& ranks) {
  std::vector<RankRange> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    const int stride = end < ranks.size() ? ranks[end] - ranks[i] : 0;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == stride) ++end;
    const bool is_run = end - i > 2 || (end - i == 2 && stride == 1);
    if (!is_run) end = i + 1;
    ranges.push_back({ranks[i], ranks[end - 1], is_run ? stride : 1});
    i = end;
  }
  return ranges;
}

std::string to_rank_ranges(const std::vector<int>& ranks, std::size_t most) {
  std::string text;
  for (const RankRange& range : rank_ranges(ranks)) {
    if (most-- == 0) return text + ",...";
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last != range.first) text += fmt::format("-{}", range.last);
    if (range.stride > 1) text += fmt::format(":{}", range.stride);
  }
  return text;
}

}  // namespace gang::sim
