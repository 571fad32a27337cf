// Are two runs the same? Compares what their ranks put out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/program/output.h"

namespace gang::harness {

// When two elements count as equal. Integers and bool are always compared exactly; a NaN equals a
// NaN.
struct Tolerance {
  // Units in the last place of the larger number that two floating-point elements may differ by; 0:
  // equal values. Sums of n terms in different orders differ by at most 2(n-1) such units of the
  // sum of the terms' magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
  double units_in_last_place = 0;

  // Whose last place: sums whose terms cancel are small beside their rounding errors.
  enum class RelativeTo : std::uint8_t { element, largest_of_output };
  RelativeTo relative_to = RelativeTo::element;
};

// The first difference, by rank, then output, then element.
struct Difference {
  int rank = 0;
  std::string output;         // its name
  std::int64_t element = -1;  // -1: something else than an element differs
  std::string left;           // the values, or what else is different
  std::string right;

  friend bool operator==(const Difference&, const Difference&) = default;
};

// "rank 3, gradient[17]: 0.5 on the left, 0.25 on the right".
std::string to_string(const Difference& difference);

// Compares the ranks, each rank's outputs in order, their names, types, counts and elements. None:
// they agree. Throws InvalidArgument where only a digest was kept and the digests differ.
std::optional<Difference> first_difference(const Outputs& left, const Outputs& right,
                                           const Tolerance& tolerance = {});

}  // namespace gang::harness
