// Are two runs the same? Compares what their ranks output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/program/output.h"

namespace gang::harness {

// When two elements count as equal. Integers and bool are always compared exactly; NaN equals NaN.
struct Tolerance {
  // By how many units in the last place of the larger number two floating-point elements may
  // differ; 0: equal values. Sums of n terms in different orders differ by at most 2(n-1) such
  // units of the sum of the terms' magnitudes (Higham, Accuracy and Stability of Numerical
  // Algorithms, 4.2).
  double units_in_last_place = 0;

  // Whose last place: sums whose terms cancel are small compared with their rounding errors.
  enum class RelativeTo : std::uint8_t { element, largest_of_output };
  RelativeTo relative_to = RelativeTo::element;
};

// The first difference, by rank, then output, then element.
struct Difference {
  int rank = 0;
  std::string output;         // its name
  std::int64_t element = -1;  // -1: something other than an element differs
  std::string left;           // the values, or what else differs
  std::string right;

  friend bool operator==(const Difference&, const Difference&) = default;
};

// "rank 3, gradient[17]: 0.5 on the left, 0.25 on the right", or whatever the sides are called.
std::string to_string(const Difference& difference, std::string_view left = "the left",
                      std::string_view right = "the right");

// Compares the ranks, each rank's outputs in order, their names, types, counts and elements. None
// if they agree. Throws InvalidArgument if only digests were kept and they differ.
std::optional<Difference> first_difference(const Outputs& left, const Outputs& right,
                                           const Tolerance& tolerance = {});

}  // namespace gang::harness
