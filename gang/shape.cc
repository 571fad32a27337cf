#include "gang/shape.h"

#include <algorithm>
#include <limits>

#include "gang/error.h"

namespace gang {
namespace {

[[noreturn]] void throw_too_many_elements(std::span<const std::int64_t> extents) {
  std::string text;
  for (const std::int64_t extent : extents)
    text += (text.empty() ? "" : ",") + std::to_string(extent);
  throw InvalidArgument("shape [" + text + "] has more than 2^63-1 elements");
}

}  // namespace

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank)
    throw InvalidArgument("a shape has " + std::to_string(extents.size()) +
                          " dimensions; must have at most " + std::to_string(max_rank));
  std::int64_t product = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t extent = extents[i];
    if (extent < 0)
      throw InvalidArgument("extent of dimension " + std::to_string(i) + " is " +
                            std::to_string(extent) + "; must be 0 or more");
    if (extent > 0 && product > std::numeric_limits<std::int64_t>::max() / extent)
      throw_too_many_elements(extents);
    product *= extent == 0 ? 1 : extent;  // [huge,0,huge] is refused too: count() must not overflow
    extents_[i] = extent;
  }
  dimensions_ = extents.size();
  count_ = std::ranges::find(extents, 0) != extents.end() ? 0 : product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape.extents()) {
    if (text.size() > 1) text += ',';
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace gang
