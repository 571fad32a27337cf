// Which ranks do something, as a condition of a program file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gang::harness::program_file {

// The ranks of one iteration, ascending; may be none.
struct OtherRanks {
  std::uint32_t iteration = 0;
  std::vector<int> ranks;
};

// "rank != 2 or iteration != 7": true for `usual`, and in the iterations of `others` for those.
// `all`: the ranks that it is evaluated for. All ascending.
std::string rank_condition(const std::vector<int>& all, const std::vector<int>& usual,
                           const std::vector<OtherRanks>& others);

}  // namespace gang::harness::program_file
