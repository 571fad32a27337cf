#include "properties/reference_model.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "gang/half.h"

namespace gang::properties::model {
namespace {

std::uint64_t truncate(std::uint64_t word, DataType type) noexcept {
  const std::size_t bits = 8 * size_bytes(type);
  return bits == 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
}

bool is_signed(DataType type) noexcept {
  return type == DataType::i8 || type == DataType::i32 || type == DataType::i64;
}

std::int64_t sign_extend(std::uint64_t word, DataType type) noexcept {
  const auto unused = static_cast<int>(64 - 8 * size_bytes(type));
  return static_cast<std::int64_t>(word << unused) >> unused;
}

bool is_less(std::uint64_t a, std::uint64_t b, DataType type) noexcept {
  if (is_floating_point(type)) return decode(a, type) < decode(b, type);
  if (is_signed(type)) return sign_extend(a, type) < sign_extend(b, type);
  return a < b;
}

std::uint64_t divide(std::uint64_t sum, std::uint64_t size, DataType type) noexcept {
  if (!is_signed(type)) return sum / size;
  const auto quotient = sign_extend(sum, type) / static_cast<std::int64_t>(size);
  return truncate(static_cast<std::uint64_t>(quotient), type);
}

std::uint64_t combine_numbers(std::uint64_t a, std::uint64_t b, const Reduction& reduction) {
  const bool multiplies = reduction.operation == ReduceOperation::product;
  if (is_floating_point(reduction.type)) {
    const double x = decode(a, reduction.type);
    const double y = decode(b, reduction.type);
    return encode(multiplies ? x * y : x + y, reduction.type);
  }
  return truncate(multiplies ? a * b : a + b, reduction.type);
}

std::uint64_t combine(std::uint64_t a, std::uint64_t b, const Reduction& reduction) {
  switch (reduction.operation) {
    case ReduceOperation::sum:
    case ReduceOperation::mean:
    case ReduceOperation::product:
      return combine_numbers(a, b, reduction);
    case ReduceOperation::min:
      return is_less(b, a, reduction.type) ? b : a;
    case ReduceOperation::max:
      return is_less(a, b, reduction.type) ? b : a;
    case ReduceOperation::bitwise_and:
      return a & b;
    case ReduceOperation::bitwise_or:
      return a | b;
    case ReduceOperation::bitwise_xor:
      return a ^ b;
  }
  return 0;
}

// A rank's contribution to a mean of `size` ranks.
std::uint64_t scale(std::uint64_t word, DataType type, std::size_t size) {
  if (!is_floating_point(type)) return word;
  const double factor = decode(encode(1.0 / static_cast<double>(size), type), type);
  return encode(decode(word, type) * factor, type);
}

Values chunk(const Values& values, std::size_t index, std::size_t count) {
  const std::size_t size = values.size() / count;
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

Values concatenate(const Ranks& parts) {
  Values whole;
  for (const Values& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

Values reduce_all(const Ranks& inputs, const Reduction& reduction) {
  Values result(inputs.front().size());
  Values elements(inputs.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) elements[rank] = inputs[rank][i];
    result[i] = reduce_element(elements, reduction);
  }
  return result;
}

}  // namespace

double decode(std::uint64_t word, DataType type) noexcept {
  switch (type) {
    case DataType::f16:
      return static_cast<double>(std::bit_cast<f16>(static_cast<std::uint16_t>(word)));
    case DataType::bf16:
      return static_cast<double>(std::bit_cast<bf16>(static_cast<std::uint16_t>(word)));
    case DataType::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    default:
      return std::bit_cast<double>(word);
  }
}

std::uint64_t encode(double value, DataType type) noexcept {
  switch (type) {
    case DataType::f16:
      return std::bit_cast<std::uint16_t>(f16(static_cast<float>(value)));
    case DataType::bf16:
      return std::bit_cast<std::uint16_t>(bf16(static_cast<float>(value)));
    case DataType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<std::uint64_t>(value);
  }
}

std::uint64_t reduce_element(std::span<const std::uint64_t> elements, const Reduction& reduction) {
  const bool is_mean = reduction.operation == ReduceOperation::mean;
  const auto contribution = [&](std::uint64_t word) {
    return is_mean ? scale(word, reduction.type, elements.size()) : word;
  };
  std::uint64_t result = contribution(elements.front());
  for (const std::uint64_t element : elements.subspan(1))
    result = combine(result, contribution(element), reduction);
  return is_mean && !is_floating_point(reduction.type)
             ? divide(result, elements.size(), reduction.type)
             : result;
}

Ranks all_reduce(const Ranks& inputs, const Reduction& reduction) {
  return Ranks(inputs.size(), reduce_all(inputs, reduction));
}

Ranks reduce(const Ranks& inputs, const Reduction& reduction, int destination) {
  Ranks outputs = inputs;
  outputs[static_cast<std::size_t>(destination)] = reduce_all(inputs, reduction);
  return outputs;
}

Ranks reduce_scatter(const Ranks& inputs, const Reduction& reduction) {
  return scatter(reduce_all(inputs, reduction), static_cast<int>(inputs.size()));
}

Ranks scan(const Ranks& inputs, const Reduction& reduction) {
  Ranks outputs;
  for (std::size_t last = 0; last < inputs.size(); ++last)
    outputs.push_back(reduce_all(
        Ranks(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(last) + 1), reduction));
  return outputs;
}

Ranks exclusive_scan(const Ranks& inputs, const Reduction& reduction) {
  Ranks outputs = scan(inputs, reduction);
  outputs.insert(outputs.begin(), Values{});
  outputs.pop_back();
  return outputs;
}

Ranks all_gather(const Ranks& inputs) { return Ranks(inputs.size(), concatenate(inputs)); }

Ranks gather(const Ranks& inputs, int destination) {
  Ranks outputs(inputs.size());
  outputs[static_cast<std::size_t>(destination)] = concatenate(inputs);
  return outputs;
}

Ranks scatter(const Values& source_input, int size) {
  Ranks outputs(static_cast<std::size_t>(size));
  for (std::size_t rank = 0; rank < outputs.size(); ++rank)
    outputs[rank] = chunk(source_input, rank, outputs.size());
  return outputs;
}

Ranks all_to_all(const std::vector<Ranks>& chunks) {
  Ranks outputs(chunks.size());
  for (std::size_t to = 0; to < chunks.size(); ++to)
    for (const Ranks& from : chunks)
      outputs[to].insert(outputs[to].end(), from[to].begin(), from[to].end());
  return outputs;
}

Ranks broadcast(const Ranks& inputs, int source) {
  return Ranks(inputs.size(), inputs[static_cast<std::size_t>(source)]);
}

Ranks ring(const Ranks& inputs, int distance) {
  Ranks outputs(inputs.size());
  for (std::size_t rank = 0; rank < inputs.size(); ++rank)
    outputs[(rank + static_cast<std::size_t>(distance)) % inputs.size()] = inputs[rank];
  return outputs;
}

bool is_exact(const Reduction& reduction, int size) noexcept {
  return reduction.operation != ReduceOperation::mean || !is_floating_point(reduction.type) ||
         std::has_single_bit(static_cast<unsigned>(size));
}

bool is_close(std::uint64_t expected, std::uint64_t actual, const Inexact& inexact) noexcept {
  const double unit_roundoff = inexact.type == DataType::f64   ? 0x1p-53
                               : inexact.type == DataType::f32 ? 0x1p-24
                               : inexact.type == DataType::f16 ? 0x1p-11
                                                               : 0x1p-8;
  const double steps = (inexact.size + 1) * unit_roundoff;
  if (steps >= 1) return true;
  // Two results, each as near to the exact one as the bound says.
  const double bound = 2 * steps / (1 - steps) * inexact.largest_input;
  return std::abs(decode(expected, inexact.type) - decode(actual, inexact.type)) <= bound;
}

}  // namespace gang::properties::model
