#include "sim/matching/collective_result.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <boost/container/small_vector.hpp>

#include "gang/reduction.h"
#include "sim/matching/reduction_pool.h"

namespace gang::sim {
namespace {

using Members = std::span<PendingOperation* const>;

// Data of all members together. The lists are long enough for small operations of small gangs.
using Bytes = boost::container::small_vector<std::byte, 256>;
using Inputs = boost::container::small_vector<const void*, 16>;  // one per rank

// The two may be the same memory, or overlap.
inline void copy_bytes(std::byte* output, const std::byte* input, std::size_t bytes) noexcept {
  using Vector = std::array<std::byte, 16>;
  if (bytes == 0 || output == input) return;
  if (bytes - sizeof(Vector) > sizeof(Vector)) return copy_few(output, input, bytes);
  // One or two vectors, which then overlap where they are more than needed.
  Vector first;
  Vector last;
  std::memcpy(&first, input, sizeof(Vector));
  std::memcpy(&last, input + bytes - sizeof(Vector), sizeof(Vector));
  std::memcpy(output, &first, sizeof(Vector));
  std::memcpy(output + bytes - sizeof(Vector), &last, sizeof(Vector));
}

// Calls `body(copy)`, where copy(output, input) copies `bytes`: by one move each if they are a
// number.
template <typename Body>
void with_copy(std::size_t bytes, Body body) {
  using Output = std::byte*;
  using Input = const std::byte*;
  if (bytes == 4) return body([](Output to, Input from) { std::memmove(to, from, 4); });
  if (bytes == 8) return body([](Output to, Input from) { std::memmove(to, from, 8); });
  body([bytes](Output to, Input from) { copy_bytes(to, from, bytes); });
}

const Operation& operation_of(Members members, std::size_t rank) noexcept {
  return *members[rank]->operation;
}

const Elements& input_of(Members members, std::size_t rank) noexcept {
  return operation_of(members, rank).input;
}

std::byte* output_of(Members members, std::size_t rank) noexcept {
  return operation_of(members, rank).output.data();
}

std::size_t root_of(Members members) noexcept {
  return static_cast<std::size_t>(members.front()->call().peer);
}

// Reduces elements [begin, end) of every input, in blocks.
struct BlockwiseReduction {
  ReduceOperation operation;
  DataType type;
  Inputs inputs;

  // Calls `visit(first element, elements)` for each block.
  template <typename Visit>
  void for_blocks(std::size_t begin, std::size_t end, const Visit& visit) const {
    const std::size_t most = reduction_block_bytes / size_bytes(type);
    for (std::size_t first = begin; first < end; first += most)
      visit(first, std::min(most, end - first));
  }

  void reduce(std::byte* output, std::size_t first, std::size_t count) const {
    reduce_block(operation, type, output, inputs.data(), static_cast<int>(inputs.size()), count,
                 first);
  }

  // Calls `deliver(offset in bytes, block, bytes)` for each reduced block.
  template <typename Deliver>
  void run(std::size_t begin, std::size_t end, const Deliver& deliver) const {
    const std::size_t width = size_bytes(type);
    alignas(64) std::array<std::byte, reduction_block_bytes> block;
    for_blocks(begin, end, [&](std::size_t first, std::size_t count) {
      reduce(block.data(), first, count);
      deliver(first * width, block.data(), count * width);
    });
  }
};

BlockwiseReduction reduction_of(Members members) {
  const Collective& call = members.front()->call();
  BlockwiseReduction reduction{call.reduce_operation, call.data_type, {}};
  reduction.inputs.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    reduction.inputs.push_back(input_of(members, i).data());
  return reduction;
}

// Splits large ranges over the pool.
template <typename Body>
void for_range(ReductionPool& pool, std::size_t count, std::size_t bytes_moved, const Body& body) {
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;
  if (bytes_moved >= worth_a_thread)
    pool.run(count, body);
  else if (count != 0)
    body(std::size_t{0}, count);
}

void all_reduce(Members members, ReductionPool& pool) {
  const BlockwiseReduction reduction = reduction_of(members);
  const std::size_t bytes = input_of(members, 0).size_bytes();
  for_range(pool, static_cast<std::size_t>(input_of(members, 0).count()), bytes * members.size(),
            [&reduction, members](std::size_t begin, std::size_t end) {
              reduction.run(
                  begin, end,
                  [members](std::size_t offset, const std::byte* block, std::size_t block_bytes) {
                    for (std::size_t i = 0; i < members.size(); ++i)
                      std::memcpy(output_of(members, i) + offset, block, block_bytes);
                  });
            });
}

void reduce(Members members, ReductionPool& pool) {
  const BlockwiseReduction reduction = reduction_of(members);
  std::byte* output = output_of(members, root_of(members));
  const std::size_t bytes = input_of(members, 0).size_bytes();
  for_range(pool, static_cast<std::size_t>(input_of(members, 0).count()), bytes * members.size(),
            [&reduction, output](std::size_t begin, std::size_t end) {
              reduction.run(
                  begin, end,
                  [output](std::size_t offset, const std::byte* block, std::size_t block_bytes) {
                    std::memcpy(output + offset, block, block_bytes);
                  });
            });
}

void reduce_scatter(Members members, ReductionPool& pool) {
  const BlockwiseReduction reduction = reduction_of(members);
  const std::size_t chunk = operation_of(members, 0).output.size_bytes();
  const std::size_t width = size_bytes(reduction.type);
  const std::size_t bytes = input_of(members, 0).size_bytes();
  // Outputs may alias inputs of the same rank, so the whole result is computed before any is
  // written.
  Bytes result(bytes, boost::container::default_init);
  for_range(pool, bytes / width, bytes * members.size(), [&](std::size_t begin, std::size_t end) {
    reduction.for_blocks(begin, end, [&](std::size_t first, std::size_t count) {
      reduction.reduce(result.data() + first * width, first, count);
    });
  });
  for (std::size_t i = 0; i < members.size(); ++i)
    copy_bytes(output_of(members, i), result.data() + i * chunk, chunk);
}

// `until_here` is what the ranks so far make together. A rank's output may be its input, so that is
// taken before the output is written.
void scan(Members members) {
  const Collective& call = members.front()->call();
  const bool is_exclusive = call.kind == OperationKind::exclusive_scan;
  const Elements& first = input_of(members, 0);
  std::vector<std::byte> until_here(first.size_bytes());
  std::vector<std::byte> own(until_here.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    copy_bytes(own.data(), input_of(members, i).data(), own.size());
    if (is_exclusive && i != 0) copy_bytes(output_of(members, i), until_here.data(), own.size());
    if (i == 0)
      until_here = own;
    else
      combine(call.reduce_operation, first.type(), until_here.data(), own.data(),
              static_cast<std::size_t>(first.count()));
    if (!is_exclusive) copy_bytes(output_of(members, i), until_here.data(), own.size());
  }
}

// All inputs, one after the other: outputs may overlap inputs, so they are gathered first. Where
// all are of one size, and where they are not: splits differ by rank.

Bytes concatenated_even_inputs(Members members) {
  const std::size_t bytes = input_of(members, 0).size_bytes();
  Bytes all(bytes * members.size(), boost::container::default_init);
  with_copy(bytes, [&, end = all.data()](const auto& copy) mutable {
    for (PendingOperation* member : members) {
      copy(end, member->operation->input.data());
      end += bytes;
    }
  });
  return all;
}

Bytes concatenated_uneven_inputs(Members members) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < members.size(); ++i) bytes += input_of(members, i).size_bytes();
  Bytes all(bytes, boost::container::default_init);
  std::byte* end = all.data();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t part = input_of(members, i).size_bytes();
    copy_bytes(end, input_of(members, i).data(), part);
    end += part;
  }
  return all;
}

void all_gather(Members members) {
  const bool is_even = operation_of(members, 0).extras->output_splits.empty();
  const Bytes all =
      is_even ? concatenated_even_inputs(members) : concatenated_uneven_inputs(members);
  for (std::size_t i = 0; i < members.size(); ++i)
    copy_bytes(output_of(members, i), all.data(), all.size());
}

void all_gather_to_list(Members members) {
  const Bytes all = concatenated_even_inputs(members);
  const std::size_t bytes = all.size() / members.size();
  with_copy(bytes, [&](const auto& copy) {
    for (PendingOperation* member : members) {
      const std::byte* next = all.data();
      for (const TensorView& output : member->operation->extras->outputs) {
        copy(output.data(), next);
        next += bytes;
      }
    }
  });
}

// The entries of a list are disjoint from what their rank brings or gets, but for its own entry,
// which may be the same.

void gather(Members members) {
  const std::span outputs = operation_of(members, root_of(members)).extras->outputs;
  if (outputs.empty()) return;  // recorded without data
  with_copy(input_of(members, 0).size_bytes(),
            [members, output = outputs.data()](const auto& copy) mutable {
              for (PendingOperation* member : members)
                copy((output++)->data(), member->operation->input.data());
            });
}

void scatter(Members members) {
  const std::span inputs = operation_of(members, root_of(members)).extras->inputs;
  with_copy(operation_of(members, 0).output.size_bytes(),
            [members, input = inputs.data()](const auto& copy) mutable {
              for (PendingOperation* member : members)
                copy(member->operation->output.data(), (input++)->data());
            });
}

// The elements to or from `rank`: `even` without splits.
std::int64_t share_of(std::span<const std::int64_t> splits, std::int64_t even, std::size_t rank) {
  return splits.empty() ? even : splits[rank];
}

// Whether the elements are split evenly, on all ranks in the same way.
bool is_even(Members members) {
  const std::int64_t count = input_of(members, 0).count();
  return std::ranges::all_of(members, [count](const PendingOperation* member) {
    const Operation& operation = *member->operation;
    return operation.input.count() == count && operation.output.count() == count &&
           operation.extras->input_splits.empty() && operation.extras->output_splits.empty();
  });
}

void all_to_all_evenly(Members members) {
  const Bytes all = concatenated_even_inputs(members);
  const std::size_t row = all.size() / members.size();
  const std::size_t chunk = row / members.size();
  with_copy(chunk, [&](const auto& copy) {
    for (std::size_t to = 0; to < members.size(); ++to) {
      std::byte* output = output_of(members, to);
      const std::byte* part = all.data() + to * chunk;
      for (std::size_t from = 0; from < members.size(); ++from) {
        copy(output, part);
        output += chunk;
        part += row;
      }
    }
  });
}

void all_to_all(Members members) {
  if (is_even(members)) return all_to_all_evenly(members);
  const std::size_t ranks = members.size();
  const std::size_t width = size_bytes(members.front()->call().data_type);
  const Bytes all = concatenated_uneven_inputs(members);
  boost::container::small_vector<std::byte*, 16> ends(ranks);  // of what each rank has got so far
  for (std::size_t to = 0; to < ranks; ++to) ends[to] = output_of(members, to);
  const std::byte* part = all.data();
  for (std::size_t from = 0; from < ranks; ++from) {
    const Operation& sender = operation_of(members, from);
    const std::int64_t even = sender.input.count() / static_cast<std::int64_t>(ranks);
    const std::byte* next = part;
    for (std::size_t to = 0; to < ranks; ++to) {
      const std::int64_t share = share_of(sender.extras->input_splits, even, to);
      const std::size_t bytes = static_cast<std::size_t>(share) * width;
      copy_bytes(ends[to], next, bytes);
      ends[to] += bytes;
      next += bytes;
    }
    part += sender.input.size_bytes();
  }
}

void broadcast(Members members) {
  const Elements& source = input_of(members, root_of(members));
  for (std::size_t i = 0; i < members.size(); ++i)
    copy_bytes(output_of(members, i), source.data(), source.size_bytes());
}

void broadcast_objects(Members members) {
  const std::vector<std::byte>& source = *operation_of(members, root_of(members)).extras->packed;
  for (PendingOperation* member : members)
    if (member->operation->extras->packed != &source) *member->operation->extras->packed = source;
}

}  // namespace

void compute_result(Members members, ReductionPool& pool) {
  const Collective& call = members.front()->call();
  if (has_root(call.kind) && call.peer == no_rank) return;  // recorded without root and data
  switch (members.front()->call().kind) {
    case OperationKind::all_reduce:
      return all_reduce(members, pool);
    case OperationKind::reduce:
      return reduce(members, pool);
    case OperationKind::reduce_scatter:
      return reduce_scatter(members, pool);
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      return scan(members);
    case OperationKind::all_gather:
      return all_gather(members);
    case OperationKind::all_gather_to_list:
      return all_gather_to_list(members);
    case OperationKind::gather:
      return gather(members);
    case OperationKind::scatter:
      return scatter(members);
    case OperationKind::all_to_all:
      return all_to_all(members);
    case OperationKind::broadcast:
      return broadcast(members);
    case OperationKind::broadcast_objects:
      return broadcast_objects(members);
    default:
      return;  // barriers move nothing
  }
}

void compute_in_slot(MatchSlot& slot) {
  const Operation& operation = *slot.members.front()->operation;
  const Collective& call = operation.collective;
  if (has_root(call.kind) && call.peer == no_rank) return;  // recorded without root and data
  if (call.kind == OperationKind::broadcast)
    slot.result = slot.seats[static_cast<std::size_t>(call.peer)].value;
  else
    reduce_strided(call.reduce_operation, call.data_type, slot.result.data(),
                   slot.seats[0].value.data(), sizeof(Seat), static_cast<int>(slot.size),
                   static_cast<std::size_t>(operation.input.count()));
  slot.result_bytes = static_cast<std::uint8_t>(operation.input.size_bytes());
}

bool has_pairwise_mismatch(const MatchSlot& slot) {
  const Members members = slot.members;
  if (is_even(members)) return false;
  const auto ranks = static_cast<std::int64_t>(members.size());
  for (std::size_t from = 0; from < members.size(); ++from) {
    const Operation& sender = operation_of(members, from);
    for (std::size_t to = 0; to < members.size(); ++to) {
      const Operation& receiver = operation_of(members, to);
      if (share_of(sender.extras->input_splits, sender.input.count() / ranks, to) !=
          share_of(receiver.extras->output_splits, receiver.output.count() / ranks, from))
        return true;
    }
  }
  return false;
}

}  // namespace gang::sim
