// Finds the loops in what ranks did, and what they have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gang::harness::program_file {

// As a block of a program file: `steps` and then `blocks`, `repeat` times, on these ranks.
struct FoldedBlock {
  std::vector<int> ranks;  // ascending; empty: those of the block around it, or all
  std::uint32_t repeat = 1;
  std::string when;  // over rank and iteration; empty: always
  std::vector<std::uint32_t> steps;
  std::vector<FoldedBlock> blocks;
};

// Blocks with which every rank does its steps in their order. Ranks that do nearly the same share
// blocks, in which conditions say who differs; steps that follow each other more than once become
// loops, even if ranks differ in one or two of the iterations. Time: O(ranks x steps) for ranks
// that do the same, and a bounded number of comparisons for those that do not.
std::vector<FoldedBlock> fold_steps(const std::vector<std::vector<std::uint32_t>>& steps_of_rank);

}  // namespace gang::harness::program_file
