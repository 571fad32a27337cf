#include "gang/gloo/gloo_collectives.h"

#include <cstring>
#include <numeric>
#include <utility>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include "gang/hash.h"
#include "gang/reduction.h"

namespace gang {
namespace {

// First bytes of slots: Gloo's own collectives use 0x01 to 0x08.
constexpr std::uint64_t reduce_scatter_prefix = 0x20;
constexpr std::uint64_t uneven_exchange_prefix = 0x21;
constexpr std::uint64_t scan_prefix = 0x22;

std::uint64_t slot_of(std::uint64_t prefix, std::uint32_t tag) {
  return prefix << 56U | std::uint64_t{tag} << 24U;
}

// Whether members with different counts find that out by themselves, so that the operation is safe.
bool compares_counts(OperationKind kind) {
  return kind == OperationKind::broadcast_objects || kind == OperationKind::create_gang;
}

std::size_t count_of(const Elements& tensor) { return static_cast<std::size_t>(tensor.count()); }

// All that Gloo sees of an element type is its width.
template <typename Visit>
void with_width(DataType type, Visit&& visit) {
  switch (size_bytes(type)) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

template <typename Options>
void set_input(Options& options, const Elements& tensor) {
  with_width(tensor.type(), [&](auto width) {
    options.setInput(reinterpret_cast<decltype(width)*>(tensor.data()), count_of(tensor));
  });
}

template <typename Options>
void set_output(Options& options, const Elements& tensor) {
  with_width(tensor.type(), [&](auto width) {
    options.setOutput(reinterpret_cast<decltype(width)*>(tensor.data()), count_of(tensor));
  });
}

void copy(std::byte* to, const Elements& from) {
  if (to != from.data() && from.size_bytes() > 0) std::memcpy(to, from.data(), from.size_bytes());
}

// result = local op received, element by element. Gloo passes the local values first, in place.
gloo::AllreduceOptions::Func reduce_function(ReduceOperation operation, DataType type) {
  return [operation, type](void* result, const void* local, const void* received, size_t count) {
    if (result != local) std::memmove(result, local, count * size_bytes(type));
    combine(operation, type, result, received, count);
  };
}

// The options of a reduction of `size` ranks into `output`, where a mean scales this rank's part.
template <typename Options>
void set_reduction(Options& options, const Operation& operation, const Elements& output, int size) {
  const ReduceOperation reduce_operation = operation.collective.reduce_operation;
  if (reduce_operation == ReduceOperation::mean) {
    copy(output.data(), operation.input);
    scale_for_mean(output.type(), output.data(), count_of(output), size);
  } else if (output.data() != operation.input.data()) {
    set_input(options, operation.input);
  }
  set_output(options, output);
  options.setReduceFunction(reduce_function(reduce_operation, output.type()));
  options.setTag(tag_of(operation.collective));
}

void end_reduction(const Operation& operation, const Elements& output, int size) {
  if (operation.collective.reduce_operation == ReduceOperation::mean)
    finish_mean(output.type(), output.data(), count_of(output), size);
}

// Whether `list` is contiguous in memory, in order.
bool is_contiguous(std::span<const TensorView> list) {
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].data() != list[i - 1].data() + list[i - 1].size_bytes()) return false;
  return true;
}

void copy_out(std::span<const TensorView> list, const std::byte* from) {
  for (const TensorView& tensor : list) {
    std::memcpy(tensor.data(), from, tensor.size_bytes());
    from += tensor.size_bytes();
  }
}

}  // namespace

std::uint32_t tag_of(const Collective& collective) noexcept {
  std::uint64_t hash = splitmix64(0, static_cast<std::uint64_t>(collective.kind));
  hash = splitmix64(hash, static_cast<std::uint64_t>(collective.data_type));
  if (reduces(collective.kind))
    hash = splitmix64(hash, static_cast<std::uint64_t>(collective.reduce_operation));
  if (has_root(collective.kind))
    hash = splitmix64(hash, static_cast<std::uint64_t>(collective.peer));
  if (!compares_counts(collective.kind))
    hash = splitmix64(hash, static_cast<std::uint64_t>(collective.count));
  return static_cast<std::uint32_t>((collective.sequence_number & 0xffU) << 24U |
                                    (hash & 0xffffffU));
}

GlooCollectives::GlooCollectives(std::shared_ptr<gloo::Context> context)
    : context_(std::move(context)) {}

std::byte* GlooCollectives::scratch(std::size_t index, std::size_t bytes) {
  if (scratch_[index].size() < bytes) scratch_[index].resize(bytes);
  return scratch_[index].data();
}

void GlooCollectives::perform(const Operation& operation) {
  const Collective& collective = operation.collective;
  if (!operation.extras->output_splits.empty()) return uneven_exchange(operation);
  if (collective.kind == OperationKind::barrier || collective.count == 0)
    return barrier(tag_of(collective));
  switch (collective.kind) {
    case OperationKind::all_reduce:
      return all_reduce(operation);
    case OperationKind::reduce:
      return reduce(operation);
    case OperationKind::reduce_scatter:
      return reduce_scatter(operation);
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      return scan(operation);
    case OperationKind::all_gather:
      return all_gather(operation);
    case OperationKind::all_gather_to_list:
      return all_gather_to_list(operation);
    case OperationKind::gather:
      return gather(operation);
    case OperationKind::scatter:
      return scatter(operation);
    case OperationKind::all_to_all:
      return all_to_all(operation);
    default:
      return broadcast(operation);
  }
}

void GlooCollectives::all_reduce(const Operation& operation) {
  gloo::AllreduceOptions options(context_);
  set_reduction(options, operation, operation.output, context_->size);
  gloo::allreduce(options);
  end_reduction(operation, operation.output, context_->size);
}

// Gloo wants an output on every rank, and leaves partial results in it off the root.
void GlooCollectives::reduce(const Operation& operation) {
  const Elements& input = operation.input;
  const bool is_root = context_->rank == operation.collective.peer;
  const Elements output =
      is_root ? operation.output
              : Elements(scratch(0, input.size_bytes()), input.type(), input.count());
  gloo::ReduceOptions options(context_);
  set_reduction(options, operation, output, context_->size);
  options.setRoot(operation.collective.peer);
  gloo::reduce(options);
  if (is_root) end_reduction(operation, output, context_->size);
}

// A ring, since Gloo's own reduce-scatter may read what it has overwritten. Chunk c starts at rank
// c+1 and goes around once, to end at rank c; every rank adds its own part to what it receives.
void GlooCollectives::reduce_scatter(const Operation& operation) {
  const ReduceOperation reduce_operation = operation.collective.reduce_operation;
  const Elements& output = operation.output;
  const DataType type = output.type();
  const std::size_t bytes = output.size_bytes();
  const std::size_t count = count_of(output);
  const int size = context_->size;
  const int next = (context_->rank + 1) % size;
  const int previous = (context_->rank + size - 1) % size;
  const std::uint64_t slot = slot_of(reduce_scatter_prefix, tag_of(operation.collective));
  std::byte* const rooms[] = {scratch(0, bytes), scratch(1, bytes)};
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffers[] = {
      context_->createUnboundBuffer(rooms[0], bytes),
      context_->createUnboundBuffer(rooms[1], bytes)};
  // Copies this rank's part of the chunk that belongs to the rank `behind` places before it.
  const auto take_own = [&](std::byte* room, int behind) {
    const auto chunk = static_cast<std::size_t>((context_->rank + size - behind) % size);
    std::memcpy(room, operation.input.data() + chunk * bytes, bytes);
    if (reduce_operation == ReduceOperation::mean) scale_for_mean(type, room, count, size);
  };
  std::byte* const own = scratch(2, bytes);
  take_own(rooms[0], 1);
  for (int step = 0; step + 1 < size; ++step) {
    const auto sending = static_cast<std::size_t>(step % 2);
    const std::size_t receiving = 1 - sending;
    buffers[receiving]->recv(previous, slot, 0, bytes);
    buffers[sending]->send(next, slot, 0, bytes);
    take_own(own, step + 2);
    buffers[receiving]->waitRecv();
    combine(reduce_operation, type, own, rooms[receiving], count);
    buffers[sending]->waitSend();
    std::memcpy(rooms[receiving], own, bytes);
  }
  std::memcpy(output.data(), own, bytes);
  if (reduce_operation == ReduceOperation::mean) finish_mean(type, output.data(), count, size);
}

// A chain: each rank adds its part to what the ranks before it have reduced, and passes that on.
void GlooCollectives::scan(const Operation& operation) {
  const Collective& call = operation.collective;
  const Elements& input = operation.input;
  const std::size_t bytes = input.size_bytes();
  const int rank = context_->rank;
  const std::uint64_t slot = slot_of(scan_prefix, tag_of(call));
  std::byte* const before = scratch(0, bytes);
  std::byte* const until_here = scratch(1, bytes);
  if (rank > 0) {
    const auto buffer = context_->createUnboundBuffer(before, bytes);
    buffer->recv(rank - 1, slot, 0, bytes);
    buffer->waitRecv();
    std::memcpy(until_here, before, bytes);
    combine(call.reduce_operation, input.type(), until_here, input.data(), count_of(input));
  } else {
    std::memcpy(until_here, input.data(), bytes);
  }
  if (rank + 1 < context_->size) {
    const auto buffer = context_->createUnboundBuffer(until_here, bytes);
    buffer->send(rank + 1, slot, 0, bytes);
    buffer->waitSend();
  }
  const bool is_exclusive = call.kind == OperationKind::exclusive_scan;
  if (!is_exclusive || rank > 0)
    std::memcpy(operation.output.data(), is_exclusive ? before : until_here, bytes);
}

void GlooCollectives::all_gather(const Operation& operation) {
  gloo::AllgatherOptions options(context_);
  set_input(options, operation.input);
  set_output(options, operation.output);
  options.setTag(tag_of(operation.collective));
  gloo::allgather(options);
}

void GlooCollectives::all_gather_to_list(const Operation& operation) {
  const std::size_t bytes = operation.input.size_bytes();
  const auto size = static_cast<std::size_t>(context_->size);
  const bool is_direct = is_contiguous(operation.extras->outputs);
  std::byte* const gathered =
      is_direct ? operation.extras->outputs.front().data() : scratch(0, size * bytes);
  gloo::AllgatherOptions options(context_);
  options.setInput(reinterpret_cast<std::uint8_t*>(operation.input.data()), bytes);
  options.setOutput(reinterpret_cast<std::uint8_t*>(gathered), size * bytes);
  options.setTag(tag_of(operation.collective));
  gloo::allgather(options);
  if (!is_direct) copy_out(operation.extras->outputs, gathered);
}

void GlooCollectives::gather(const Operation& operation) {
  const std::size_t bytes = operation.input.size_bytes();
  const auto size = static_cast<std::size_t>(context_->size);
  const bool is_root = context_->rank == operation.collective.peer;
  const bool is_direct = is_contiguous(operation.extras->outputs);
  std::byte* gathered = nullptr;
  gloo::GatherOptions options(context_);
  options.setInput(reinterpret_cast<std::uint8_t*>(operation.input.data()), bytes);
  if (is_root) {
    gathered = is_direct ? operation.extras->outputs.front().data() : scratch(0, size * bytes);
    options.setOutput(reinterpret_cast<std::uint8_t*>(gathered), size * bytes);
  }
  options.setRoot(operation.collective.peer);
  options.setTag(tag_of(operation.collective));
  gloo::gather(options);
  if (is_root && !is_direct) copy_out(operation.extras->outputs, gathered);
}

void GlooCollectives::scatter(const Operation& operation) {
  const std::size_t bytes = operation.output.size_bytes();
  gloo::ScatterOptions options(context_);
  std::vector<std::uint8_t*> inputs;
  for (const TensorView& input : operation.extras->inputs)
    inputs.push_back(reinterpret_cast<std::uint8_t*>(input.data()));
  if (!inputs.empty()) options.setInputs(inputs, bytes);
  options.setOutput(reinterpret_cast<std::uint8_t*>(operation.output.data()), bytes);
  options.setRoot(operation.collective.peer);
  options.setTag(tag_of(operation.collective));
  gloo::scatter(options);
}

void GlooCollectives::all_to_all(const Operation& operation) {
  gloo::AlltoallOptions options(context_);
  set_input(options, operation.input);
  set_output(options, operation.output);
  options.setTag(tag_of(operation.collective));
  gloo::alltoall(options);
}

// An all_to_all with splits, or an all_gather with counts, where each rank gets the whole input.
// All sends and receives at once, as Gloo does it, but each with its count in the slot, so that two
// ranks that disagree time out instead of ending the process.
void GlooCollectives::uneven_exchange(const Operation& operation) {
  const std::size_t width = size_bytes(operation.input.type());
  const auto own = static_cast<std::size_t>(context_->rank);
  const auto size = static_cast<std::size_t>(context_->size);
  const std::uint64_t slot = slot_of(uneven_exchange_prefix, tag_of(operation.collective));
  const auto slot_for = [slot](std::int64_t count) {
    return slot | (splitmix64(1, static_cast<std::uint64_t>(count)) & 0xffffffU);
  };
  const auto offsets_of = [width](std::span<const std::int64_t> splits) {
    std::vector<std::size_t> offsets(splits.size());
    std::exclusive_scan(splits.begin(), splits.end(), offsets.begin(), std::size_t{0},
                        [width](std::size_t offset, std::int64_t count) {
                          return offset + static_cast<std::size_t>(count) * width;
                        });
    return offsets;
  };
  const bool gives_all = operation.extras->input_splits.empty();
  const std::vector<std::int64_t> whole(gives_all ? size : 0, operation.input.count());
  const std::span<const std::int64_t> sent = gives_all ? whole : operation.extras->input_splits;
  const std::vector<std::size_t> from =
      gives_all ? std::vector<std::size_t>(size, 0) : offsets_of(sent);
  const std::vector<std::size_t> to = offsets_of(operation.extras->output_splits);
  const auto bytes_of = [width](std::span<const std::int64_t> splits, std::size_t rank) {
    return static_cast<std::size_t>(splits[rank]) * width;
  };
  const auto input =
      context_->createUnboundBuffer(operation.input.data(), operation.input.size_bytes());
  const auto output =
      context_->createUnboundBuffer(operation.output.data(), operation.output.size_bytes());
  for (std::size_t i = 1; i < size; ++i) {
    const std::size_t destination = (own + i) % size;
    const std::size_t source = (own + size - i) % size;
    output->recv(static_cast<int>(source), slot_for(operation.extras->output_splits[source]),
                 to[source], bytes_of(operation.extras->output_splits, source));
    input->send(static_cast<int>(destination), slot_for(sent[destination]), from[destination],
                bytes_of(sent, destination));
  }
  if (sent[own] == operation.extras->output_splits[own] && sent[own] > 0)
    std::memcpy(operation.output.data() + to[own], operation.input.data() + from[own],
                bytes_of(sent, own));
  for (std::size_t i = 1; i < size; ++i) {
    input->waitSend();
    output->waitRecv();
  }
}

void GlooCollectives::broadcast(const Operation& operation) {
  broadcast_bytes(tag_of(operation.collective), operation.output.data(),
                  operation.output.size_bytes(), operation.collective.peer);
}

void GlooCollectives::broadcast_bytes(std::uint32_t tag, void* bytes, std::size_t count, int root) {
  gloo::BroadcastOptions options(context_);
  options.setOutput(static_cast<std::uint8_t*>(bytes), count);
  options.setRoot(root);
  options.setTag(tag);
  gloo::broadcast(options);
}

void GlooCollectives::barrier(std::uint32_t tag) {
  gloo::BarrierOptions options(context_);
  options.setTag(tag);
  gloo::barrier(options);
}

std::vector<std::byte> GlooCollectives::all_gather_bytes(std::uint32_t tag, const void* own,
                                                         std::size_t bytes_each) {
  std::vector<std::byte> all(bytes_each * static_cast<std::size_t>(context_->size));
  std::memcpy(scratch(0, bytes_each), own, bytes_each);
  gloo::AllgatherOptions options(context_);
  options.setInput(reinterpret_cast<std::uint8_t*>(scratch_[0].data()), bytes_each);
  options.setOutput(reinterpret_cast<std::uint8_t*>(all.data()), all.size());
  options.setTag(tag);
  gloo::allgather(options);
  return all;
}

}  // namespace gang
