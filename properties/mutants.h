// Mistakes of one rank are found, and laid at its door.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/generators/mutant.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// What became of the mutants that were judged. Threads: counting is safe from several.
struct MutantFigures {
  std::atomic<std::uint64_t> detected = 0;
  std::atomic<std::uint64_t> equivalent = 0;   // same results and no finding: no mistake after all
  std::atomic<std::uint64_t> same_calls = 0;   // other results, but no call that others can tell
  std::atomic<std::uint64_t> noticed = 0;      // of them, by an exception of the program's own
  std::atomic<std::uint64_t> majorities = 0;   // detected, with two or more who did right
  std::atomic<std::uint64_t> right_first = 0;  // of those, the finding names the rank alone
};

// "1893 detected, 95 equivalent, ...", in lines.
std::string to_string(const MutantFigures& figures);

// Whether a mistake has a majority of others against it: all the calls in which the rank differs
// are collectives of three or more members or, where its calls are only in another order, both are
// collectives that three or more ranks call.
bool has_majority(const Mutant& mutant);

// The share of mistakes with a majority in which the rank must be named alone.
inline constexpr double least_right_first = 0.99;

std::vector<Property> mutants(const Subject& subject = {});

}  // namespace gang::properties
