// Test data whose reduction every rank can tell without asking the others.
#pragma once

#include <cstdint>

#include "gang/reduce_operation.h"
#include "gang/tensor_view.h"

namespace gang::harness {

// Writes `value` (small enough for every type) to element `index`.
void write_element(const TensorView& tensor, std::int64_t index, int value);

// Element `index` as a number; what is beyond 2^53 is rounded.
double read_element(const TensorView& tensor, std::int64_t index);

// Fills `tensor` with what `rank` gives to a reduction: small whole numbers that differ by rank and
// by index on the first four ranks, and what changes nothing on the others. So every sum is exact,
// in any order and in every type, however many ranks there are.
void fill_contribution(const TensorView& tensor, ReduceOperation operation, int rank);

// Whether `tensor` holds the reduction of the contributions of ranks 0 ... size-1; `first` is the
// index of its first element in the contributions (of a chunk). Exact, but for the mean of
// floating-point numbers: 4 units in the last place. O(elements), whatever the size.
bool is_reduction(const TensorView& tensor, ReduceOperation operation, int size,
                  std::int64_t first = 0);

}  // namespace gang::harness
