// The reduction loops: one definition of every reduce operation, used by all backends.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gang/data_type.h"
#include "gang/reduce_operation.h"

namespace gang {

// Which vector instructions the loops use. Each gives the same bits.
enum class VectorWidth : std::uint8_t {
  baseline,  // those that every processor of the architecture has
  avx2,      // x86-64 only
};

// The widest that this processor has.
VectorWidth best_vector_width() noexcept;

// accumulator[i] = accumulator[i] op input[i] for `count` elements of `type`.
//
// Integers wrap around; f16 and bf16 round after every step; min and max are NaN if either side is,
// and keep the accumulator if both sides are equal (+0 and -0); `mean` combines as `sum` does (see
// scale_for_mean and finish_mean). The buffers must not overlap. Requires is_defined(operation,
// type), and a `width` that this processor has. Threads: pure; may run concurrently on disjoint
// accumulators.
void combine(ReduceOperation operation, DataType type, void* accumulator, const void* input,
             std::size_t count, VectorWidth width = best_vector_width()) noexcept;

// What `mean` does to each rank's values before they are summed: multiplies floating-point elements
// by 1/size rounded to `type`; leaves integers unchanged.
void scale_for_mean(DataType type, void* values, std::size_t count, int size) noexcept;

// What `mean` does to the sum: divides integers by `size`, truncating toward zero; leaves
// floating-point elements unchanged.
void finish_mean(DataType type, void* values, std::size_t count, int size) noexcept;

// The whole reduction of one block, in rank order: output = inputs[0] op inputs[1] op ...
// (left-associated), with the steps of `mean` if that is the operation. `inputs` holds `size` >= 1
// pointers; the block is elements [first, first + count) of each, and the first `count` of
// `output`, which may be one of these parts, but must not otherwise overlap any of them. Uses at
// most 2 KiB of stack, none beyond its frame for a block of at most 64 bytes. Threads: as combine.
void reduce_block(ReduceOperation operation, DataType type, void* output, const void* const* inputs,
                  int size, std::size_t count, std::size_t first = 0,
                  VectorWidth width = best_vector_width()) noexcept;

// The same for inputs of which each begins `stride` bytes after the one before, for a few elements:
// one after another, without a buffer. `output` may be the first of them.
void reduce_strided(ReduceOperation operation, DataType type, void* output, const void* inputs,
                    std::size_t stride, int size, std::size_t count) noexcept;

// A good block size, in bytes, for callers that cut a reduction into blocks: as many inputs as a
// gang usually has fit into a core's cache together.
inline constexpr std::size_t reduction_block_bytes = 16 * 1024;

}  // namespace gang
