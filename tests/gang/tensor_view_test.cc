#include "gang/tensor_view.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/half.h"

namespace gang {
namespace {

// Borrows the shape of `view`.
DLTensor dlpack_of(const TensorView& view) {
  DLTensor tensor;
  view.to_dlpack(tensor);
  return tensor;
}

TEST(TensorView, ADefaultViewHasNoElements) {
  const TensorView view;
  EXPECT_EQ(view.count(), 0);
  EXPECT_EQ(view.data(), nullptr);
  EXPECT_EQ(to_string(view), "f32[0]");
}

TEST(TensorView, ViewsARange) {
  std::vector<std::int32_t> values(6);
  const TensorView flat = view(values);
  EXPECT_EQ(to_string(flat), "i32[6]");
  EXPECT_EQ(flat.data(), reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(flat.size_bytes(), 24u);
  EXPECT_TRUE(flat.is_contiguous());
  EXPECT_EQ(to_string(view(values, Shape{2, 3})), "i32[2,3]");
  EXPECT_THROW(view(values, Shape{2, 2}), InvalidArgument);
}

TEST(TensorView, ViewsAValueAsAScalar) {
  bf16 value(1.5f);
  EXPECT_EQ(to_string(view_of(value)), "bf16[]");
  EXPECT_EQ(view_of(value).count(), 1);
}

TEST(TensorView, ReshapingKeepsTheElements) {
  std::array<float, 6> values{};
  const TensorView flat = view(values);
  EXPECT_EQ(flat.reshaped(Shape{3, 2}).data(), flat.data());
  EXPECT_THROW(flat.reshaped(Shape{5}), InvalidArgument);
}

TEST(TensorView, SlicesAreWithinTheTensor) {
  std::array<std::int64_t, 6> values{};
  const TensorView flat = view(values);
  EXPECT_EQ(flat.slice(2, 3).data(), reinterpret_cast<std::byte*>(&values[2]));
  EXPECT_EQ(flat.slice(2, 3).shape(), Shape::vector(3));
  EXPECT_EQ(flat.slice(6, 0).count(), 0);
  EXPECT_THROW(flat.slice(4, 3), InvalidArgument);
  EXPECT_THROW(flat.slice(-1, 1), InvalidArgument);
  EXPECT_THROW(flat.slice(1, -1), InvalidArgument);
  EXPECT_EQ(TensorView().slice(0, 0).data(), nullptr);
}

TEST(TensorView, EveryTypeAndShapeSurvivesDlpack) {
  std::array<std::byte, 64> memory{};
  for (const DataType type : all_data_types) {
    for (const Shape& shape : {Shape{}, Shape{2, 3}, Shape{0, 4}}) {
      const TensorView original(memory.data(), type, shape);
      const TensorView back = TensorView::from_dlpack(dlpack_of(original));
      EXPECT_EQ(back.data(), original.data());
      EXPECT_EQ(back.type(), type);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(back.device(), Device{});
      EXPECT_TRUE(back.is_contiguous());
    }
  }
}

TEST(TensorView, CudaDevicesSurviveDlpack) {
  std::byte byte{};
  const TensorView original(&byte, DataType::u8, Shape{1}, {DeviceType::cuda, 3});
  EXPECT_EQ(TensorView::from_dlpack(dlpack_of(original)).device(), (Device{DeviceType::cuda, 3}));
}

TEST(TensorView, DlpackOffsetsAreAdded) {
  std::array<float, 4> values{};
  const TensorView half = view(values).slice(0, 2);
  DLTensor tensor = dlpack_of(half);
  tensor.byte_offset = 8;
  EXPECT_EQ(TensorView::from_dlpack(tensor).data(), reinterpret_cast<std::byte*>(&values[2]));
}

TEST(TensorView, StridesSayWhetherATensorIsContiguous) {
  std::array<float, 12> values{};
  const TensorView matrix = view(values, Shape{3, 4});
  DLTensor tensor = dlpack_of(matrix);
  const auto contiguous = [&tensor](std::int64_t outer, std::int64_t inner) {
    std::array strides = {outer, inner};
    tensor.strides = strides.data();
    return TensorView::from_dlpack(tensor).is_contiguous();
  };
  EXPECT_TRUE(contiguous(4, 1));
  EXPECT_FALSE(contiguous(1, 3)) << "transposed";
  EXPECT_FALSE(contiguous(8, 1)) << "every other row";
  EXPECT_FALSE(contiguous(0, 1)) << "one row, repeated";
  std::array<std::int64_t, 2> column = {3, 1};
  tensor.shape = column.data();
  EXPECT_TRUE(contiguous(1, 77)) << "the stride of a single column does not matter";
  std::array<std::int64_t, 2> empty = {3, 0};
  tensor.shape = empty.data();
  EXPECT_TRUE(contiguous(5, 5)) << "nor do those of an empty tensor";
}

TEST(TensorView, ATensorThatIsNotContiguousHasNoDlpackForm) {
  std::array<float, 4> values{};
  const TensorView square = view(values, Shape{2, 2});  // the shape is borrowed
  DLTensor tensor = dlpack_of(square);
  std::array<std::int64_t, 2> strides = {1, 2};
  tensor.strides = strides.data();
  const TensorView transposed = TensorView::from_dlpack(tensor);
  EXPECT_FALSE(transposed.is_contiguous());
  EXPECT_FALSE(transposed.reshaped(Shape{4}).is_contiguous());
  EXPECT_THROW(transposed.to_dlpack(tensor), InvalidArgument);
}

TEST(TensorView, UnsupportedDlpackTensorsAreRefused) {
  std::array<float, 4> values{};
  const TensorView original = view(values);
  const auto refused = [&original](auto change) {
    DLTensor tensor = dlpack_of(original);
    change(tensor);
    EXPECT_THROW(TensorView::from_dlpack(tensor), InvalidArgument);
  };
  refused([](DLTensor& tensor) { tensor.dtype.lanes = 4; });
  refused([](DLTensor& tensor) { tensor.dtype.bits = 16, tensor.dtype.code = kDLInt; });
  refused([](DLTensor& tensor) { tensor.dtype = {kDLComplex, 64, 1}; });
  refused([](DLTensor& tensor) { tensor.device.device_type = kDLMetal; });
  refused([](DLTensor& tensor) { tensor.ndim = 9; });
  refused([](DLTensor& tensor) { tensor.ndim = -1; });
  refused([](DLTensor& tensor) { tensor.shape = nullptr; });
}

TEST(TensorView, DlpackBoolIsCodeSix) {
  bool value = true;
  const TensorView scalar = view_of(value);
  const DLTensor tensor = dlpack_of(scalar);
  EXPECT_EQ(tensor.dtype.code, 6);
  EXPECT_EQ(tensor.dtype.bits, 8);
}

TEST(Elements, AreThoseOfAView) {
  std::array<double, 6> memory{};
  const Elements all = view(memory, Shape{2, 3});
  EXPECT_EQ(all.count(), 6);
  EXPECT_EQ(all.size_bytes(), 48U);
  const Elements part = all.part(4, 2);
  EXPECT_EQ(static_cast<void*>(part.data()), &memory[4]);
  EXPECT_EQ(part.count(), 2);
  EXPECT_EQ(part.as_vector().shape(), Shape::vector(2));
  EXPECT_EQ(part.as_vector().type(), DataType::f64);
  EXPECT_EQ(Elements().part(0, 0).data(), nullptr);
}

}  // namespace
}  // namespace gang
