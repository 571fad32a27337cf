// Mistakes of one rank are found, and laid at its door.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/generators/mutant.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// What became of the mutants that were judged. Threads: may be counted from several.
struct MutantFigures {
  std::atomic<std::uint64_t> detected = 0;
  std::atomic<std::uint64_t> equivalent = 0;  // same results, no finding: no mistake after all
  std::atomic<std::uint64_t> same_calls = 0;  // different results, but no call that others see
  std::atomic<std::uint64_t> noticed = 0;     // of `detected`, by an exception of the program
  std::atomic<std::uint64_t> majorities =
      0;  // of `detected`, with two or more ranks that are right
  std::atomic<std::uint64_t> right_first = 0;  // of those, the finding names only the rank
};

// "1893 detected, 95 equivalent, ...", in lines.
std::string to_string(const MutantFigures& figures);

// Whether a majority of ranks contradicts a mistake: every call in which the rank differs is a
// collective of three or more members or, if only the order of two calls differs, both are
// collectives that three or more ranks call.
bool has_majority(const Mutant& mutant);

// The share of mistakes with a majority in which only the rank must be named.
inline constexpr double least_right_first = 0.99;

std::vector<Property> mutants(const Subject& subject = {});

}  // namespace gang::properties
