// Which calls of a recording have done their work, and which were left when it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "harness/recording/recording.h"

namespace gang::harness {

// Places are indexes into RankRecording::calls.
struct OpenCalls {
  struct Group {
    std::optional<std::uint64_t> first;  // number of the first open collective; none: all ended
    bool differs = false;                // its members made it with different arguments
    bool has_common = false;             // all members made the one before it, and alike
  };
  std::vector<Group> groups;                               // by group
  std::vector<std::vector<std::uint32_t>> of_rank;         // by rank: places, in their order
  std::vector<std::vector<std::uint32_t>> common_of_rank;  // by rank: of the last common calls
  std::vector<std::vector<bool>> is_open;                  // by rank and place

  // Calls that have ended, and that the dumps of others do not tell: left out of a replay.
  std::vector<std::vector<bool>> is_left_out;  // by rank and place

  // A collective that has ended and that a member must have made, which its dump does not tell.
  struct Untold {
    std::uint32_t group = 0;
    std::uint32_t call = 0;   // as another member made it
    std::int64_t time = 0;    // when the last one came, by its clock
    std::uint32_t place = 0;  // the last place that it has on a rank
  };
  std::vector<std::vector<Untold>> untold_of_rank;  // by rank, group after group

  std::set<int> early;  // ranks whose dumps lack what others completed with them: they are older

  bool empty() const noexcept {
    for (const auto& calls : of_rank)
      if (!calls.empty()) return false;
    return true;
  }
};

// Calls are aligned by group, number and kind, never by their position: rings overflow at different
// times. A collective has ended if all its members made it, alike, and it is completed where the
// backend says so, on all of them or on one that needs all; everything behind the first open one of
// a group is open too. What no ring holds any more has ended, since its rank went on. Sends and
// receives of a link are paired in their order. O(calls + members of groups).
OpenCalls find_open_calls(const Recording& recording);

}  // namespace gang::harness
