// Ranks that leave what all ranks do are named, and nobody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// What became of the runs. Threads: may be counted from several.
struct CulpritFigures {
  std::atomic<std::uint64_t> without_effect = 0;  // the run holds all the same
  std::atomic<std::uint64_t> found = 0;
  std::atomic<std::uint64_t> alone = 0;       // of `found`: culprits are named, and nobody else
  std::atomic<std::uint64_t> own_line = 0;    // of `found`: the place is where one left the others
  std::atomic<std::uint64_t> far_behind = 0;  // of `found`: it was no longer recorded; has no line
};

// "the culprit alone is named in 9871 of 9900 (99.71 %)", ..., in lines.
std::string to_string(const CulpritFigures& figures);

inline constexpr double least_alone = 0.995;
inline constexpr double least_own_line = 0.99;
inline constexpr double least_without_innocents = 0.99;

// A simulator that settles its verdicts.
Subject settling_subject();

std::vector<Property> culprits(const Subject& subject = settling_subject());

// Of ranks whose programs end too early, normally or not, where the others may learn of it by
// errors of their own: `subject` runs on another backend, and settles.
std::vector<Property> early_ends(const Subject& subject);

}  // namespace gang::properties
