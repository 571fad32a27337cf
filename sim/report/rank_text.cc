#include "sim/report/rank_text.h"

#include <cctype>

#include <fmt/format.h>

#include "sim/report/report.h"

namespace gang::sim {

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr std::size_t most_ranges = 6;
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     to_rank_ranges(ranks, most_ranges));
}

std::string ranks_do(const std::vector<int>& ranks, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", ranks_text(ranks), ranks.size() == 1 ? one : many);
}

std::string capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

}  // namespace gang::sim
