// Sets of ranks, written as ranges.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gang::sim {

// Ranks from `first` to `last`, every `stride`-th.
struct RankRange {
  int first = 0;
  int last = 0;
  int stride = 1;

  friend bool operator==(const RankRange&, const RankRange&) = default;
};

std::vector<RankRange> rank_ranges(const std::vector<int>& ascending_ranks);

// The same as text: "0-3,8,10-14:2"; at most `most` ranges, then "...".
std::string to_rank_ranges(const std::vector<int>& ascending_ranks, std::size_t most = 16);

}  // namespace gang::sim
