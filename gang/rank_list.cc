#include "gang/rank_list.h"

#include <cstdint>

namespace gang {
namespace {

// How many ranks from `first` on continue with the stride between the first two.
std::size_t run_length(const std::vector<int>& ranks, std::size_t first) {
  if (first + 1 >= ranks.size()) return ranks.size() - first;
  const std::int64_t stride = std::int64_t{ranks[first + 1]} - ranks[first];
  std::size_t last = first + 1;
  while (last + 1 < ranks.size() && std::int64_t{ranks[last + 1]} - ranks[last] == stride) ++last;
  return last - first + 1;
}

// "4-7", "0-1022:2"; empty where the ranks are better listed one by one.
std::string range_text(const std::vector<int>& ranks, std::size_t first, std::size_t length) {
  if (length < 3) return "";
  const int stride = ranks[first + 1] - ranks[first];
  if (stride < 1 || (stride > 1 && length < 5)) return "";
  std::string text = std::to_string(ranks[first]) + "-" + std::to_string(ranks[first + length - 1]);
  return stride == 1 ? text : text + ":" + std::to_string(stride);
}

}  // namespace

std::string ranges_text(const std::vector<int>& ranks, std::size_t limit) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t length = run_length(ranks, first);
    std::string part = range_text(ranks, first, length);
    if (part.empty()) {
      part = std::to_string(ranks[first]);
      length = 1;
    }
    if (!text.empty()) text += ',';
    if (text.size() + part.size() > limit) return text + "...";
    text += part;
    first += length;
  }
  return text;
}

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t limit = 40;
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges_text(ranks, limit);
}

}  // namespace gang
