// What several ranks do, as one list of steps.
#pragma once

#include <cstdint>
#include <vector>

namespace gang::harness::program_file {

// Each rank does those of the steps that are its own, in their order.
struct SharedSteps {
  struct Step {
    std::uint32_t step = 0;
    std::uint32_t ranks = 0;  // index into `sets`
  };

  std::vector<std::vector<int>> sets;  // of ranks, ascending; the first: all that share this list
  std::vector<Step> steps;
  bool are_all_ranks = false;

  const std::vector<int>& ranks() const noexcept { return sets.front(); }
};

// The steps of all ranks, in as few lists as there are ways to go: ranks share a list if at least
// half of what each does is in it. Larger groups of ranks come first.
std::vector<SharedSteps> share_steps(const std::vector<std::vector<std::uint32_t>>& steps_of_rank);

}  // namespace gang::harness::program_file
