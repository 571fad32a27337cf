#include "harness/program/contribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gang/half.h"
#include "gang/reduction.h"

namespace gang::harness {
namespace {

constexpr std::int64_t period = 3;  // contributions repeat after so many elements
constexpr int contributors = 4;     // ranks that give more than an identity

// Calls `use` with a value of the C++ type of `type`.
template <typename Use>
auto with_type(DataType type, const Use& use) {
  switch (type) {
    case DataType::boolean:
      return use(bool{});
    case DataType::u8:
      return use(std::uint8_t{});
    case DataType::i8:
      return use(std::int8_t{});
    case DataType::i32:
      return use(std::int32_t{});
    case DataType::u32:
      return use(std::uint32_t{});
    case DataType::i64:
      return use(std::int64_t{});
    case DataType::u64:
      return use(std::uint64_t{});
    case DataType::f16:
      return use(f16{});
    case DataType::bf16:
      return use(bf16{});
    case DataType::f32:
      return use(float{});
    case DataType::f64:
      break;
  }
  return use(double{});
}

int identity_of(ReduceOperation operation, DataType type) {
  switch (operation) {
    case ReduceOperation::product:
      return 1;
    case ReduceOperation::min:
      return type == DataType::boolean ? 1 : static_cast<int>(period) + 1;
    case ReduceOperation::bitwise_and:
      return type == DataType::boolean ? 1 : 3;  // every bit of a contribution
    default:
      return 0;
  }
}

int contribution_of(ReduceOperation operation, DataType type, int rank, std::int64_t index) {
  if (rank >= contributors) return identity_of(operation, type);
  const int value = static_cast<int>((rank + index) % period);
  return type == DataType::boolean ? value : value + 1;
}

// One period of some tensor's elements.
struct Block {
  alignas(8) std::array<std::byte, period * 8> bytes{};
  TensorView view(DataType type) { return {bytes.data(), type, Shape::vector(period)}; }
};

Block contribution_block(ReduceOperation operation, DataType type, int rank, std::int64_t first) {
  Block block;
  const TensorView view = block.view(type);
  for (std::int64_t i = 0; i < period; ++i)
    write_element(view, i, contribution_of(operation, type, rank, first + i));
  return block;
}

Block reduced_block(ReduceOperation operation, DataType type, int size, std::int64_t first) {
  Block result;
  // One more than the contributors stands for all the others: its contribution changes nothing.
  for (int rank = 0; rank < std::min(size, contributors + 1); ++rank) {
    Block block = contribution_block(operation, type, rank, first);
    if (operation == ReduceOperation::mean) scale_for_mean(type, block.bytes.data(), period, size);
    if (rank == 0)
      result = block;
    else
      combine(operation, type, result.bytes.data(), block.bytes.data(), period);
  }
  if (operation == ReduceOperation::mean) finish_mean(type, result.bytes.data(), period, size);
  return result;
}

bool is_near(const TensorView& tensor, const TensorView& block) {
  const double tolerance = 4 * unit_in_last_place(tensor.type());
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double expected = read_element(block, i % period);
    if (!(std::abs(read_element(tensor, i) - expected) <= tolerance * std::abs(expected)))
      return false;
  }
  return true;
}

bool repeats(const TensorView& tensor, const Block& block) {
  const std::size_t bytes = period * size_bytes(tensor.type());
  const std::size_t total = tensor.size_bytes();
  if (std::memcmp(tensor.data(), block.bytes.data(), std::min(bytes, total)) != 0) return false;
  return total <= bytes || std::memcmp(tensor.data(), tensor.data() + bytes, total - bytes) == 0;
}

}  // namespace

double unit_in_last_place(DataType type) noexcept {
  switch (type) {
    case DataType::f16:
      return 0x1p-10;
    case DataType::bf16:
      return 0x1p-7;
    case DataType::f32:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

void write_element(const TensorView& tensor, std::int64_t index, int value) {
  with_type(tensor.type(), [&](auto typed) {
    using T = decltype(typed);
    const T element = static_cast<T>(value);
    std::memcpy(tensor.data() + static_cast<std::size_t>(index) * sizeof(T), &element, sizeof(T));
  });
}

double read_element(const TensorView& tensor, std::int64_t index) {
  return with_type(tensor.type(), [&](auto typed) {
    std::memcpy(&typed, tensor.data() + static_cast<std::size_t>(index) * sizeof typed,
                sizeof typed);
    return static_cast<double>(typed);
  });
}

void fill_contribution(const TensorView& tensor, ReduceOperation operation, int rank) {
  const Block block = contribution_block(operation, tensor.type(), rank, 0);
  const std::size_t total = tensor.size_bytes();
  std::size_t filled = std::min(total, period * size_bytes(tensor.type()));
  if (filled == 0) return;
  std::memcpy(tensor.data(), block.bytes.data(), filled);
  while (filled < total) {  // Doubles what is there.
    const std::size_t bytes = std::min(filled, total - filled);
    std::memcpy(tensor.data() + filled, tensor.data(), bytes);
    filled += bytes;
  }
}

bool is_reduction(const TensorView& tensor, ReduceOperation operation, int size,
                  std::int64_t first) {
  if (tensor.count() == 0) return true;
  Block expected = reduced_block(operation, tensor.type(), size, first);
  if (repeats(tensor, expected)) return true;
  return operation == ReduceOperation::mean && is_floating_point(tensor.type()) &&
         is_near(tensor, expected.view(tensor.type()));
}

}  // namespace gang::harness
