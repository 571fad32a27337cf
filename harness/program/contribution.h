// Test data whose reduction each rank knows without asking the others.
#pragma once

#include <cstdint>

#include "gang/reduce_operation.h"
#include "gang/tensor_view.h"

namespace gang::harness {

// Writes `value` (small enough for every type) to element `index`.
void write_element(const TensorView& tensor, std::int64_t index, int value);

// Element `index` as a number; rounded beyond 2^53.
double read_element(const TensorView& tensor, std::int64_t index);

// Fills `tensor` with the contribution of `rank` to a reduction: small whole numbers that differ by
// rank and by index on the first four ranks, and the identity on the others. So every sum is exact,
// in any order and in every type, however many ranks there are.
void fill_contribution(const TensorView& tensor, ReduceOperation operation, int rank);

// The distance between 1 and the next larger number of a floating-point type.
double unit_in_last_place(DataType type) noexcept;

// Whether `tensor` holds the reduction of the contributions of ranks 0 ... size-1; `first` is the
// index of its first element in the contributions (of a chunk). Exact, except for the mean of
// floating-point numbers: 4 units in the last place. O(elements), whatever the size.
bool is_reduction(const TensorView& tensor, ReduceOperation operation, int size,
                  std::int64_t first = 0);

}  // namespace gang::harness
