#include "gang/tensor_view.h"

#include <array>

#include "gang/error.h"

namespace gang {
namespace {

// kDLBool, which DLPack has had since 0.8.
constexpr std::uint8_t dlpack_bool = 6;

struct TypeRow {
  DataType type;
  std::uint8_t code;
  std::uint8_t bits;
};

constexpr std::array type_rows = {
    TypeRow{DataType::boolean, dlpack_bool, 8}, TypeRow{DataType::u8, kDLUInt, 8},
    TypeRow{DataType::i8, kDLInt, 8},           TypeRow{DataType::i32, kDLInt, 32},
    TypeRow{DataType::u32, kDLUInt, 32},        TypeRow{DataType::i64, kDLInt, 64},
    TypeRow{DataType::u64, kDLUInt, 64},        TypeRow{DataType::f16, kDLFloat, 16},
    TypeRow{DataType::bf16, kDLBfloat, 16},     TypeRow{DataType::f32, kDLFloat, 32},
    TypeRow{DataType::f64, kDLFloat, 64}};

DataType type_of(const DLDataType& dtype) {
  if (dtype.lanes != 1)
    throw InvalidArgument("a DLPack tensor has " + std::to_string(dtype.lanes) +
                          " lanes; must have 1");
  for (const TypeRow& row : type_rows)
    if (row.code == dtype.code && row.bits == dtype.bits) return row.type;
  std::string known;
  for (const TypeRow& row : type_rows)
    known += (known.empty() ? "" : ", ") + std::string(to_string(row.type));
  throw InvalidArgument("a DLPack tensor has type code " + std::to_string(dtype.code) + " and " +
                        std::to_string(dtype.bits) + " bits; must be one of: " + known);
}

Device device_of(const DLDevice& device) {
  switch (static_cast<int>(device.device_type)) {
    case kDLCPU:
    case kDLCUDAHost:
      return {DeviceType::cpu, 0};
    case kDLCUDA:
    case kDLCUDAManaged:
      return {DeviceType::cuda, device.device_id};
    default:
      throw InvalidArgument("a DLPack tensor is on device type " +
                            std::to_string(static_cast<int>(device.device_type)) +
                            "; must be cpu or cuda");
  }
}

Shape shape_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    throw InvalidArgument("a DLPack tensor has " + std::to_string(tensor.ndim) +
                          " dimensions but no shape");
  return Shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
}

// Row-major without gaps. The strides of dimensions of extent 1 and of empty tensors do not matter.
bool is_row_major(const Shape& shape, const std::int64_t* strides) {
  if (strides == nullptr || shape.count() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.dimensions(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

TensorView TensorView::from_dlpack(const DLTensor& tensor) {
  const Shape shape = shape_of(tensor);
  auto* data = static_cast<std::byte*>(tensor.data);
  TensorView view(data == nullptr ? nullptr : data + tensor.byte_offset, type_of(tensor.dtype),
                  shape, device_of(tensor.device));
  view.contiguous_ = is_row_major(shape, tensor.strides);
  return view;
}

void TensorView::to_dlpack(DLTensor& tensor) const {
  if (!contiguous_)
    throw InvalidArgument("tensor " + to_string(*this) + " is not contiguous; must be contiguous");
  tensor = DLTensor{};
  tensor.data = data_;
  tensor.device =
      device_.type == DeviceType::cpu ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, device_.index};
  tensor.ndim = static_cast<int>(shape_.dimensions());
  for (const TypeRow& row : type_rows)
    if (row.type == type_) tensor.dtype = {row.code, row.bits, 1};
  // DLPack has no const, but code that takes a DLTensor does not write through its shape.
  tensor.shape = const_cast<std::int64_t*>(shape_.extents().data());
}

TensorView TensorView::reshaped(const Shape& shape) const {
  if (shape.count() != count())
    throw InvalidArgument("shape " + to_string(shape) + " does not fit tensor " + to_string(*this) +
                          "; must have " + std::to_string(count()) + " elements");
  TensorView view = *this;
  view.shape_ = shape;
  return view;
}

TensorView TensorView::slice(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || first > this->count() - count)
    throw InvalidArgument("slice of " + std::to_string(count) + " elements at " +
                          std::to_string(first) + " is not within " + to_string(*this));
  TensorView view = *this;
  view.shape_ = Shape::vector(count);
  if (data_ != nullptr) view.data_ += static_cast<std::size_t>(first) * gang::size_bytes(type_);
  return view;
}

std::string to_string(const TensorView& tensor) {
  return std::string(to_string(tensor.type())) + to_string(tensor.shape());
}

}  // namespace gang
