#include "gang/reduction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gang/half_arithmetic.h"

namespace gang {
namespace {

// Wrapping arithmetic without undefined behaviour: the language promotes narrow types to int, which
// the product of two 16-bit values would overflow; unsigned types never do.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;

struct Sum {
  template <typename T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    else
      return a + b;
  }
};

struct Product {
  template <typename T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    else
      return a * b;
  }
};

// Of equal numbers the first, and a NaN if either is one.
struct Min {
  template <typename T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_class_v<T>)
      return T::min(a, b);
    else
      return a <= b || a != a ? a : b;
  }
};

struct Max {
  template <typename T>
  static T apply(T a, T b) noexcept {
    if constexpr (std::is_class_v<T>)
      return T::max(a, b);
    else
      return b <= a || a != a ? a : b;
  }
};

struct BitwiseAnd {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a & b);
  }
};

struct BitwiseOr {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a | b);
  }
};

struct BitwiseXor {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(a ^ b);
  }
};

// Calls visit(T{}) for the C++ type of `type`; bool is treated as a byte.
template <typename Visit>
void with_type(DataType type, Visit&& visit) {
  switch (type) {
    case DataType::boolean:
    case DataType::u8:
      return visit(std::uint8_t{});
    case DataType::i8:
      return visit(std::int8_t{});
    case DataType::i32:
      return visit(std::int32_t{});
    case DataType::u32:
      return visit(std::uint32_t{});
    case DataType::i64:
      return visit(std::int64_t{});
    case DataType::u64:
      return visit(std::uint64_t{});
    case DataType::f16:
      return visit(HalfNumber<Binary16>{});
    case DataType::bf16:
      return visit(HalfNumber<Brain16>{});
    case DataType::f32:
      return visit(float{});
    case DataType::f64:
      return visit(double{});
  }
}

template <typename T, typename Visit>
void with_bitwise(ReduceOperation operation, Visit&& visit) {
  if constexpr (std::is_integral_v<T>) {
    if (operation == ReduceOperation::bitwise_and) return visit(BitwiseAnd{});
    if (operation == ReduceOperation::bitwise_or) return visit(BitwiseOr{});
    if (operation == ReduceOperation::bitwise_xor) return visit(BitwiseXor{});
  }
}

// Calls visit(op) for the functor of `operation` on elements of type T.
template <typename T, typename Visit>
void with_operation(ReduceOperation operation, Visit&& visit) {
  switch (operation) {
    case ReduceOperation::sum:
    case ReduceOperation::mean:
      return visit(Sum{});
    case ReduceOperation::product:
      return visit(Product{});
    case ReduceOperation::min:
      return visit(Min{});
    case ReduceOperation::max:
      return visit(Max{});
    default:
      return with_bitwise<T>(operation, visit);
  }
}

template <typename T>
T reciprocal(int size) noexcept {
  return static_cast<T>(static_cast<float>(1.0 / size));
}
template <>
double reciprocal<double>(int size) noexcept {
  return 1.0 / size;
}

// The number of elements in a tile of reduce_block: small enough for a fiber's stack, large enough
// to read each input in long runs.
template <typename T>
constexpr std::size_t tile_count = 2048 / sizeof(T);

// What is done to an element before it is combined: nothing, or the part of `mean` on
// floating-point elements. Types, so that the loops below have no branches.
struct AsItIs {
  template <typename T>
  T operator()(T value) const noexcept {
    return value;
  }
};

template <typename T>
struct Scaled {
  T factor;
  T operator()(T value) const noexcept { return static_cast<T>(value * factor); }
};

// The loop of all reductions, compiled for each VectorWidth. The functions that it is compiled into
// are not inlined: with a loop over ranks around it, GCC takes two ranks at a time (unroll and jam)
// and no longer vectorises.
template <typename T, typename Op, typename Prepare>
[[gnu::always_inline]] inline void combine_each(T* __restrict accumulator,
                                                const T* __restrict input, std::size_t count,
                                                Prepare prepare) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    accumulator[i] = Op::apply(accumulator[i], prepare(input[i]));
}

template <typename T, typename Op, typename Prepare>
[[gnu::noinline]] void combine_by_baseline(T* __restrict accumulator, const T* __restrict input,
                                           std::size_t count, Prepare prepare) noexcept {
  combine_each<T, Op>(accumulator, input, count, prepare);
}

#if defined(__x86_64__)
template <typename T, typename Op, typename Prepare>
[[gnu::noinline, gnu::target("avx2")]] void combine_by_avx2(T* __restrict accumulator,
                                                            const T* __restrict input,
                                                            std::size_t count,
                                                            Prepare prepare) noexcept {
  combine_each<T, Op>(accumulator, input, count, prepare);
}
#endif

template <typename T, typename Op, typename Prepare>
void combine_elements(T* accumulator, const T* input, std::size_t count, Prepare prepare,
                      [[maybe_unused]] VectorWidth width) noexcept {
#if defined(__x86_64__)
  if (width == VectorWidth::avx2) return combine_by_avx2<T, Op>(accumulator, input, count, prepare);
#endif
  combine_by_baseline<T, Op>(accumulator, input, count, prepare);
}

// Elements of each rank's input, from `first` on.
struct Inputs {
  const void* const* begins;  // of the whole inputs
  int size;                   // ranks
  std::size_t first;
};

template <typename T, typename Op, typename Prepare>
void reduce_tile(T* accumulator, const Inputs& inputs, std::size_t first, std::size_t count,
                 Prepare prepare, VectorWidth width) noexcept {
  const T* head = static_cast<const T*>(inputs.begins[0]) + first;
  for (std::size_t i = 0; i < count; ++i) accumulator[i] = prepare(head[i]);
  for (int rank = 1; rank < inputs.size; ++rank)
    combine_elements<T, Op>(accumulator, static_cast<const T*>(inputs.begins[rank]) + first, count,
                            prepare, width);
}

template <typename T, typename Op, typename Prepare>
[[gnu::noinline]] void reduce_tiles(T* output, const Inputs& inputs, std::size_t count,
                                    Prepare prepare, VectorWidth width) noexcept {
  alignas(64) std::array<T, tile_count<T>> tile;  // of cache lines: a vector lies in one
  for (std::size_t done = 0; done < count; done += tile.size()) {
    const std::size_t length = std::min(tile.size(), count - done);
    reduce_tile<T, Op>(tile.data(), inputs, inputs.first + done, length, prepare, width);
    std::memcpy(output + done, tile.data(), length * sizeof(T));
  }
}

// `input_of(rank)` is where a rank's input begins.
template <typename T, typename Op, std::size_t lanes, typename InputOf, typename Prepare>
[[gnu::always_inline]] inline void reduce_lanes(T* output, const InputOf& input_of, int size,
                                                std::size_t first, Prepare prepare) noexcept {
  std::array<T, lanes> accumulator;
  const T* input = static_cast<const T*>(input_of(0)) + first;
  for (std::size_t i = 0; i < lanes; ++i) accumulator[i] = prepare(input[i]);
  for (int rank = 1; rank < size; ++rank) {
    input = static_cast<const T*>(input_of(rank)) + first;
    for (std::size_t i = 0; i < lanes; ++i)
      accumulator[i] = Op::apply(accumulator[i], prepare(input[i]));
  }
  for (std::size_t i = 0; i < lanes; ++i) output[first + i] = accumulator[i];
}

// For a few elements, `lanes` at a time: no buffer, so no further page of a fiber's stack.
template <typename T, typename Op, std::size_t lanes, typename InputOf, typename Prepare>
void reduce_elements(T* output, const InputOf& input_of, int size, std::size_t count,
                     Prepare prepare) noexcept {
  std::size_t i = 0;
  if constexpr (lanes > 1)
    for (; i + lanes <= count; i += lanes)
      reduce_lanes<T, Op, lanes>(output, input_of, size, i, prepare);
  for (; i < count; ++i) reduce_lanes<T, Op, 1>(output, input_of, size, i, prepare);
}

// As many as fit into a vector that each processor has. One of a narrower type: those are rare in
// small collectives, and their loops would make this file a third slower to compile.
template <typename T>
constexpr std::size_t baseline_lanes = sizeof(T) < 4 ? 1 : 16 / sizeof(T);

// Calls reduce(zero, op, prepare) for the type of the elements and the functors of `operation`,
// then finishes a mean.
template <typename Reduce>
void with_reduction(ReduceOperation operation, DataType type, void* output, int size,
                    std::size_t count, const Reduce& reduce) noexcept {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>)
      if (operation == ReduceOperation::mean)
        return reduce(zero, Sum{}, Scaled<T>{reciprocal<T>(size)});
    with_operation<T>(operation, [&](auto op) { reduce(zero, op, AsItIs{}); });
  });
  if (operation == ReduceOperation::mean) finish_mean(type, output, count, size);
}

}  // namespace

VectorWidth best_vector_width() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return VectorWidth::avx2;
#endif
  return VectorWidth::baseline;
}

void combine(ReduceOperation operation, DataType type, void* accumulator, const void* input,
             std::size_t count, VectorWidth width) noexcept {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    with_operation<T>(operation, [&](auto op) {
      combine_elements<T, decltype(op)>(static_cast<T*>(accumulator), static_cast<const T*>(input),
                                        count, AsItIs{}, width);
    });
  });
}

void scale_for_mean(DataType type, void* values, std::size_t count, int size) noexcept {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      const T factor = reciprocal<T>(size);
      auto* elements = static_cast<T*>(values);
      for (std::size_t i = 0; i < count; ++i) elements[i] = elements[i] * factor;
    }
  });
}

void finish_mean(DataType type, void* values, std::size_t count, int size) noexcept {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      auto* elements = static_cast<T*>(values);
      for (std::size_t i = 0; i < count; ++i)
        elements[i] = static_cast<T>(static_cast<Wide>(elements[i]) / static_cast<Wide>(size));
    }
  });
}

void reduce_block(ReduceOperation operation, DataType type, void* output, const void* const* inputs,
                  int size, std::size_t count, std::size_t first, VectorWidth width) noexcept {
  with_reduction(
      operation, type, output, size, count, [&]<typename T, typename Op>(T, Op, auto prepare) {
        auto* result = static_cast<T*>(output);
        if (count * sizeof(T) > 64)
          return reduce_tiles<T, Op>(result, {inputs, size, first}, count, prepare, width);
        const auto input_of = [inputs, first](int rank) {
          return static_cast<const T*>(inputs[rank]) + first;
        };
        reduce_elements<T, Op, baseline_lanes<T>>(result, input_of, size, count, prepare);
      });
}

void reduce_strided(ReduceOperation operation, DataType type, void* output, const void* inputs,
                    std::size_t stride, int size, std::size_t count) noexcept {
  with_reduction(
      operation, type, output, size, count, [&]<typename T, typename Op>(T, Op, auto prepare) {
        const auto input_of = [inputs, stride](int rank) -> const void* {
          return static_cast<const std::byte*>(inputs) + static_cast<std::size_t>(rank) * stride;
        };
        reduce_elements<T, Op, 1>(static_cast<T*>(output), input_of, size, count, prepare);
      });
}

}  // namespace gang
