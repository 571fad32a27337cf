#include "harness/comparison/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/program/contribution.h"

namespace gang::harness {
namespace {

bool are_near(DataType type, double left, double right, double least_magnitude,
              const Tolerance& tolerance) {
  if (left == right || (std::isnan(left) && std::isnan(right))) return true;
  const double magnitude = std::max({least_magnitude, std::abs(left), std::abs(right)});
  return std::abs(left - right) <=
         tolerance.units_in_last_place * unit_in_last_place(type) * magnitude;
}

TensorView view_of_output(const Output& output) {
  // Read only.
  auto* data = const_cast<std::byte*>(output.data.data());
  return {data, output.type, Shape::vector(output.count)};
}

// The largest finite magnitude in an output of floating-point numbers.
double largest_of(const Output& output) {
  double largest = 0;
  for (std::int64_t element = 0; element < output.count; ++element) {
    const double magnitude = std::abs(read_element(view_of_output(output), element));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

bool are_equal(const Output& left, const Output& right, std::int64_t element,
               double least_magnitude, const Tolerance& tolerance) {
  const std::size_t size = size_bytes(left.type);
  const std::size_t offset = static_cast<std::size_t>(element) * size;
  if (std::memcmp(left.data.data() + offset, right.data.data() + offset, size) == 0) return true;
  return is_floating_point(left.type) &&
         are_near(left.type, read_element(view_of_output(left), element),
                  read_element(view_of_output(right), element), least_magnitude, tolerance);
}

std::string describe(const Output& output) {
  return fmt::format("{} {}[{}]", output.name, gang::to_string(output.type), output.count);
}

std::string element_text(const Output& output, std::int64_t element) {
  return fmt::format("{}", read_element(view_of_output(output), element));
}

std::optional<Difference> compare(int rank, const Output& left, const Output& right,
                                  const Tolerance& tolerance) {
  if (left.name != right.name || left.type != right.type || left.count != right.count)
    return Difference{rank, left.name, -1, describe(left), describe(right)};
  if (left.data == right.data) return std::nullopt;
  const bool is_relative_to_largest =
      tolerance.relative_to == Tolerance::RelativeTo::largest_of_output &&
      is_floating_point(left.type);
  const double least = is_relative_to_largest ? largest_of(left) : 0;
  for (std::int64_t element = 0; element < left.count; ++element) {
    if (are_equal(left, right, element, least, tolerance)) continue;
    return Difference{rank, left.name, element, element_text(left, element),
                      element_text(right, element)};
  }
  return std::nullopt;
}

std::optional<Difference> compare(int rank, const std::vector<Output>& left,
                                  const std::vector<Output>& right, const Tolerance& tolerance) {
  const std::size_t both = std::min(left.size(), right.size());
  for (std::size_t i = 0; i < both; ++i)
    if (auto difference = compare(rank, left[i], right[i], tolerance)) return difference;
  if (left.size() == right.size()) return std::nullopt;
  return Difference{rank, "", -1, fmt::format("{} outputs", left.size()),
                    fmt::format("{} outputs", right.size())};
}

}  // namespace

std::string to_string(const Difference& difference, std::string_view left, std::string_view right) {
  std::string where = fmt::format("rank {}", difference.rank);
  if (!difference.output.empty()) where += ", " + difference.output;
  if (difference.element >= 0) where += fmt::format("[{}]", difference.element);
  return fmt::format("{}: {} on {}, {} on {}", where, difference.left, left, difference.right,
                     right);
}

std::optional<Difference> first_difference(const Outputs& left, const Outputs& right,
                                           const Tolerance& tolerance) {
  if (!left.are_kept() || !right.are_kept()) {
    if (left.digest == right.digest) return std::nullopt;
    throw InvalidArgument("the outputs differ, but only their digests were kept");
  }
  const std::size_t both = std::min(left.by_rank.size(), right.by_rank.size());
  for (std::size_t rank = 0; rank < both; ++rank) {
    if (auto difference =
            compare(static_cast<int>(rank), left.by_rank[rank], right.by_rank[rank], tolerance)) {
      return difference;
    }
  }
  if (left.by_rank.size() == right.by_rank.size()) return std::nullopt;
  return Difference{static_cast<int>(both), "", -1, fmt::format("{} ranks", left.by_rank.size()),
                    fmt::format("{} ranks", right.by_rank.size())};
}

}  // namespace gang::harness
