// The extents of a tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace gang {

// Up to `max_rank` extents, each >= 0, held in place. A shape without dimensions is a scalar (one
// element). Copied, compared and printed as a value; cheap enough for every call.
class Shape {
 public:
  static constexpr std::size_t max_rank = 8;

  constexpr Shape() noexcept { extents_[0] = 0; }

  // Copies only the extents in use, since every call of a collective copies a few shapes.
  [[gnu::always_inline]] constexpr Shape(const Shape& other) noexcept { copy(other); }
  [[gnu::always_inline]] constexpr Shape& operator=(const Shape& other) noexcept {
    copy(other);
    return *this;
  }

  // Throws InvalidArgument for more than `max_rank` dimensions or a negative extent.
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  // The shape of `count` elements in a row. The caller must ensure that count >= 0.
  static constexpr Shape vector(std::int64_t count) noexcept {
    Shape shape;
    shape.extents_[0] = count;
    shape.count_ = count;
    shape.dimensions_ = 1;
    return shape;
  }

  constexpr std::span<const std::int64_t> extents() const noexcept {
    return {extents_.data(), dimensions_};
  }
  constexpr std::size_t dimensions() const noexcept { return dimensions_; }
  constexpr std::int64_t operator[](std::size_t dimension) const noexcept {
    return extents_[dimension];
  }

  // Number of elements: the product of the extents, 1 for a scalar.
  constexpr std::int64_t count() const noexcept { return count_; }

  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.dimensions_ != b.dimensions_) return false;
    for (std::size_t i = 0; i < a.dimensions_; ++i)
      if (a.extents_[i] != b.extents_[i]) return false;
    return true;
  }

 private:
  [[gnu::always_inline]] constexpr void copy(const Shape& other) noexcept {
    count_ = other.count_;
    dimensions_ = other.dimensions_;
    // Alone: together with the second, it would be waited for until it has reached memory.
    extents_[0] = other.extents_[0];
    if (dimensions_ > 1) [[unlikely]]
      copy_further(other);
  }
  [[gnu::noinline]] constexpr void copy_further(const Shape& other) noexcept {
    for (std::size_t i = 1; i < dimensions_; ++i) extents_[i] = other.extents_[i];
  }

  std::int64_t count_ = 1;
  std::size_t dimensions_ = 0;
  // Those beyond dimensions_ and the first are never read: most shapes are copied without a loop.
  std::array<std::int64_t, max_rank> extents_;
};

// "[4096]", "[2,3]", "[]" for a scalar.
std::string to_string(const Shape& shape);

}  // namespace gang
