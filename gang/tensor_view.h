// A view of memory that a collective reads or writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>

#include <dlpack/dlpack.h>

#include "gang/data_type.h"
#include "gang/device.h"
#include "gang/shape.h"

namespace gang {

// Non-owning, typed, shaped view of memory on a device.
//
// Lifetime: the memory is the caller's, and must exist until the operation that was given the view
// has completed. A view is a value; copying it does not copy elements. A default view has no
// elements and no memory (f32[0]). Source: the fields and their meanings are those of DLPack
// (dlpack.h, version 0.6).
class TensorView {
 public:
  constexpr TensorView() noexcept : shape_(Shape::vector(0)) {}

  // A contiguous view of `shape.count()` elements at `data`.
  TensorView(void* data, DataType type, const Shape& shape, Device device = {}) noexcept
      : data_(static_cast<std::byte*>(data)), device_(device), type_(type), shape_(shape) {}

  // A view of a DLPack tensor. Of the strides, it remembers only whether they are contiguous.
  // Throws InvalidArgument for a type, lane count, device or rank that gangsim does not support.
  static TensorView from_dlpack(const DLTensor& tensor);

  // Fills in `tensor` (data, device, type, shape; no strides). `tensor.shape` points into this
  // view, which must outlive it. Throws InvalidArgument for a non-contiguous view.
  void to_dlpack(DLTensor& tensor) const;

  std::byte* data() const noexcept { return data_; }
  DataType type() const noexcept { return type_; }
  const Shape& shape() const noexcept { return shape_; }
  Device device() const noexcept { return device_; }
  bool is_contiguous() const noexcept { return contiguous_; }
  std::int64_t count() const noexcept { return shape_.count(); }
  std::size_t size_bytes() const noexcept {
    return static_cast<std::size_t>(count()) * gang::size_bytes(type_);
  }

  // The same elements with another shape; throws InvalidArgument unless the counts are equal.
  TensorView reshaped(const Shape& shape) const;

  // Elements [first, first + count) as a vector; throws InvalidArgument if out of range.
  TensorView slice(std::int64_t first, std::int64_t count) const;

 private:
  std::byte* data_ = nullptr;
  Device device_;
  DataType type_ = DataType::f32;
  bool contiguous_ = true;
  Shape shape_;
};

// "f32[4096]".
std::string to_string(const TensorView& tensor);

// What an operation moves of a contiguous view: its elements, without their shape and device.
class Elements {
 public:
  constexpr Elements() noexcept = default;
  Elements(const TensorView& view) noexcept  // NOLINT: a view is its elements and more
      : data_(view.data()), count_(view.count()), type_(view.type()) {}
  Elements(std::byte* data, DataType type, std::int64_t count) noexcept
      : data_(data), count_(count), type_(type) {}

  std::byte* data() const noexcept { return data_; }
  DataType type() const noexcept { return type_; }
  std::int64_t count() const noexcept { return count_; }
  std::size_t size_bytes() const noexcept {
    return static_cast<std::size_t>(count_) * gang::size_bytes(type_);
  }

  // Elements [first, first + count), which must be some of these.
  Elements part(std::int64_t first, std::int64_t count) const noexcept {
    std::byte* begin = data_;
    if (begin != nullptr) begin += static_cast<std::size_t>(first) * gang::size_bytes(type_);
    return {begin, type_, count};
  }

  // The same as a vector.
  TensorView as_vector(Device device = {}) const noexcept {
    return {data_, type_, Shape::vector(count_), device};
  }

 private:
  std::byte* data_ = nullptr;
  std::int64_t count_ = 0;
  DataType type_ = DataType::f32;
};

// A view of a contiguous range (std::vector, std::array, std::span, Eigen's flat storage).
// `std::vector<bool>` is not such a range: use std::uint8_t or an array of bool.
template <typename Range>
  requires std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>
[[gnu::always_inline]] inline TensorView view(Range& range) {
  using T = std::remove_cv_t<std::ranges::range_value_t<Range>>;
  return {const_cast<T*>(std::ranges::data(range)), DataTypeOf<T>::value,
          Shape::vector(static_cast<std::int64_t>(std::ranges::size(range)))};
}

// The same with a shape; throws InvalidArgument unless that has as many elements as the range.
template <typename Range>
  requires std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>
TensorView view(Range& range, const Shape& shape) {
  return view(range).reshaped(shape);
}

// A view of one value, as a scalar.
template <typename T>
  requires requires { DataTypeOf<T>::value; }
TensorView view_of(T& value) {
  return {&value, DataTypeOf<T>::value, Shape{}};
}

}  // namespace gang
