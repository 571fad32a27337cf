// What every operation means, written naively: nothing here knows of gangs, backends or buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gang/data_type.h"
#include "gang/reduce_operation.h"

namespace gang::properties::model {

// Elements of one rank's tensor: a word each, which holds the element's bits, zero-extended.
using Values = std::vector<std::uint64_t>;

// One tensor of every rank of a gang, in rank order.
using Ranks = std::vector<Values>;

struct Reduction {
  ReduceOperation operation = ReduceOperation::sum;
  DataType type = DataType::i32;
};

// One function per operation: from the inputs of all ranks to what every rank then holds in its
// output. All inputs of a call have as many elements as the call allows; nothing is checked.
// Source: SEMANTICS, section 3 (gang/README.md).
Ranks all_reduce(const Ranks& inputs, const Reduction& reduction);
Ranks reduce(const Ranks& inputs, const Reduction& reduction, int destination);  // others: inputs
Ranks reduce_scatter(const Ranks& inputs, const Reduction& reduction);
Ranks scan(const Ranks& inputs, const Reduction& reduction);
Ranks exclusive_scan(const Ranks& inputs, const Reduction& reduction);  // rank 0: nothing
Ranks all_gather(const Ranks& inputs);                                  // of any counts
Ranks gather(const Ranks& inputs, int destination);                     // others: nothing
Ranks scatter(const Values& source_input, int size);                    // the chunks, in rank order
Ranks all_to_all(const std::vector<Ranks>& chunks);                     // chunks[from][to]
Ranks broadcast(const Ranks& inputs, int source);
Ranks ring(const Ranks& inputs, int distance);  // the input of the rank `distance` before

// The reduction of one element of every rank, in rank order.
std::uint64_t reduce_element(std::span<const std::uint64_t> elements, const Reduction& reduction);

// Whether every order of reduction gives the same bits, provided that the inputs are small
// integers: all but the mean of floating-point values over a gang whose size is not a power of two.
bool is_exact(const Reduction& reduction, int size) noexcept;

// Whether `actual` may stand for `expected` if the reduction is not exact: within
// (N + 1) u sum|x| / N, N the gang's size, u the type's unit roundoff, |x| at most `largest_input`.
struct Inexact {
  DataType type = DataType::f32;
  int size = 1;
  double largest_input = 1;
};
bool is_close(std::uint64_t expected, std::uint64_t actual, const Inexact& inexact) noexcept;

// Between a floating-point element's bits and its value; `encode` rounds to nearest even.
double decode(std::uint64_t word, DataType type) noexcept;
std::uint64_t encode(double value, DataType type) noexcept;

}  // namespace gang::properties::model
