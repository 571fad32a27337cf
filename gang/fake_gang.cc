#include "gang/fake_gang.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "gang/gang_cause.h"
#include "gang/parent_gang.h"
#include "gang/reduction.h"

namespace gang {
namespace {

void copy(const Elements& output, const Elements& input) {
  if (output.data() != input.data() && input.size_bytes() > 0)
    std::memcpy(output.data(), input.data(), input.size_bytes());
}

Elements chunk_of(const Elements& tensor, int index, int size) {
  const std::int64_t count = tensor.count() / size;
  return tensor.part(index * count, count);
}

// Reduces `tensor` as `size` ranks that all hold its values would, step by step as a real gang of
// that size does it, so that rounding and wrap-around are the same.
void reduce_equal(ReduceOperation operation, const Elements& tensor, int size) {
  alignas(16) std::array<std::byte, 2048> input;
  const std::size_t block_count = input.size() / size_bytes(tensor.type());
  const auto count = static_cast<std::size_t>(tensor.count());
  for (std::size_t first = 0; first < count; first += block_count) {
    const std::size_t length = std::min(block_count, count - first);
    std::byte* block = tensor.data() + first * size_bytes(tensor.type());
    if (operation == ReduceOperation::mean) scale_for_mean(tensor.type(), block, length, size);
    std::memcpy(input.data(), block, length * size_bytes(tensor.type()));
    for (int rank = 1; rank < size; ++rank)
      combine(operation, tensor.type(), block, input.data(), length);
    if (operation == ReduceOperation::mean) finish_mean(tensor.type(), block, length, size);
  }
}

// Whether any number of equal values reduces to that value.
bool is_idempotent(ReduceOperation operation) {
  return operation == ReduceOperation::min || operation == ReduceOperation::max ||
         operation == ReduceOperation::bitwise_and || operation == ReduceOperation::bitwise_or;
}

class FakeGang final : public ParentGang {
 public:
  FakeGang(std::shared_ptr<const GangInfo> info, int rank) : ParentGang(std::move(info), rank) {}

 protected:
  Work do_start(Operation& operation) override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite&) override;
  void do_abort() override;
  void do_close() noexcept override {}

 private:
  void reduce(const Operation& operation, const Elements& input, int ranks) const;
  void replicate(const Operation& operation);
  void scatter(const Operation& operation) const;
  void all_to_all(const Operation& operation);
  void make_child(const Operation& operation, int child_rank, int child_size);
  std::shared_ptr<Gang> make_next(const std::string& name, std::optional<Duration> own_timeout,
                                  int next_rank, int next_size);
  void create(const Operation& operation);
  [[noreturn]] void fail(const Operation& operation, GangErrorKind kind, std::string reason);
  [[noreturn]] void refuse(const Operation& operation, std::string_view what) const;

  std::uint64_t next_sequence_number_ = 0;
  std::uint64_t children_made_ = 0;
  std::optional<GangErrorKind> broken_;
  bool is_shrunk_ = false;
};

void FakeGang::fail(const Operation& operation, GangErrorKind kind, std::string reason) {
  broken_ = kind;
  throw error_for(info(), rank(), operation.collective,
                  {.kind = kind, .reason = std::move(reason)});
}

void FakeGang::refuse(const Operation& operation, std::string_view what) const {
  throw NotSupported(std::string(to_string(operation.collective.kind)) + " on " + label_of(info()) +
                     ": a fake gang cannot " + std::string(what) + "; simulated gangs can");
}

// The reduction of `ranks` ranks, one or more.
void FakeGang::reduce(const Operation& operation, const Elements& input, int ranks) const {
  if (operation.output.count() == 0) return;
  copy(operation.output, input);
  const ReduceOperation reduce_operation = operation.collective.reduce_operation;
  if (!is_idempotent(reduce_operation)) reduce_equal(reduce_operation, operation.output, ranks);
}

void FakeGang::replicate(const Operation& operation) {
  for (const TensorView& output : operation.extras->outputs) copy(output, operation.input);
  if (operation.collective.kind != OperationKind::all_gather) return;
  for (const std::int64_t count : operation.extras->output_splits)
    if (count != operation.input.count())
      fail(operation, GangErrorKind::mismatch,
           "each rank passes as many elements as this one, " +
               std::to_string(operation.input.count()) + ", but this one expects " +
               std::to_string(count));
  for (int i = 0; i < size(); ++i) copy(chunk_of(operation.output, i, size()), operation.input);
}

void FakeGang::scatter(const Operation& operation) const {
  if (operation.collective.peer != rank())
    refuse(operation, "scatter data that only other ranks hold");
  copy(operation.output, operation.extras->inputs[static_cast<std::size_t>(rank())]);
}

// Every rank sends this rank the chunk that this rank sends itself.
void FakeGang::all_to_all(const Operation& operation) {
  const auto own = static_cast<std::size_t>(rank());
  if (operation.extras->input_splits.empty()) {
    const Elements chunk = chunk_of(operation.input, rank(), size());
    for (int i = 0; i < size(); ++i) copy(chunk_of(operation.output, i, size()), chunk);
    return;
  }
  const std::int64_t count = operation.extras->input_splits[own];
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < own; ++i) offset += operation.extras->input_splits[i];
  for (const std::int64_t split : operation.extras->output_splits)
    if (split != count)
      fail(operation, GangErrorKind::mismatch,
           "each rank sends this one " + std::to_string(count) +
               " elements, as many as it sends itself, but it expects " + std::to_string(split));
  const Elements chunk = operation.input.part(offset, count);
  for (int i = 0; i < size(); ++i) copy(operation.output.part(i * count, count), chunk);
}

void FakeGang::make_child(const Operation& operation, int child_rank, int child_size) {
  const GangOptions& options = *operation.extras->gang_options;
  *operation.extras->created = make_next(options.name, options.timeout, child_rank, child_size);
}

std::shared_ptr<Gang> FakeGang::make_next(const std::string& name,
                                          std::optional<Duration> own_timeout, int next_rank,
                                          int next_size) {
  const std::uint64_t index = children_made_++;
  return make_fake_gang({.rank = next_rank,
                         .size = next_size,
                         .device = device(),
                         .name = name.empty() ? default_child_name(info(), index) : name,
                         .timeout = own_timeout.value_or(timeout())});
}

void FakeGang::create(const Operation& operation) {
  const auto found = std::ranges::find(operation.extras->ranks, rank());
  if (found == operation.extras->ranks.end()) return;
  make_child(operation, static_cast<int>(found - operation.extras->ranks.begin()),
             static_cast<int>(operation.extras->ranks.size()));
}

Work FakeGang::do_start(Operation& operation) {
  operation.collective.sequence_number = next_sequence_number_++;
  if (broken_) fail(operation, *broken_, "the gang is already broken");
  switch (operation.collective.kind) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
      reduce(operation, operation.input, size());
      break;
    case OperationKind::reduce_scatter:
      reduce(operation, chunk_of(operation.input, rank(), size()), size());
      break;
    case OperationKind::scan:
      reduce(operation, operation.input, rank() + 1);
      break;
    case OperationKind::exclusive_scan:
      reduce(operation, operation.input, rank());
      break;
    case OperationKind::all_gather:
    case OperationKind::all_gather_to_list:
    case OperationKind::gather:
      replicate(operation);
      break;
    case OperationKind::scatter:
      scatter(operation);
      break;
    case OperationKind::all_to_all:
      all_to_all(operation);
      break;
    case OperationKind::create_gang:
      create(operation);
      break;
    case OperationKind::split:
      if (operation.extras->color != no_color) make_child(operation, rank(), size());
      break;
    case OperationKind::broadcast:
    case OperationKind::broadcast_objects:
    case OperationKind::barrier:
    case OperationKind::monitored_barrier:
      break;  // all ranks are here and hold the same
    case OperationKind::send:
    case OperationKind::recv:
    case OperationKind::batch:
      refuse(operation, "send or receive");
    case OperationKind::shrink:
      break;  // never an operation
  }
  return Work();
}

// Imaginary members are never gone.
std::shared_ptr<Gang> FakeGang::do_shrink(const ShrinkOptions& options, const CallSite&) {
  if (is_shrunk_)
    throw InvalidOperation("shrink on " + label_of(info()) +
                           ": the gang has already been shrunk; shrink the new gang");
  is_shrunk_ = true;
  if (!broken_) broken_ = GangErrorKind::peer_failed;
  return make_next(options.name, options.timeout, rank(), size());
}

void FakeGang::do_abort() {
  if (!broken_) broken_ = GangErrorKind::aborted;
}

// Gangs made one after the other share what is equal: each of a million ranks makes the same ones.
std::shared_ptr<const GangInfo> shared_info(GangInfo info) {
  struct Last {
    std::mutex mutex;
    std::shared_ptr<const GangInfo> info;
  };
  static auto* const last = new Last;  // never destroyed: gangs are made while a process ends, too
  const std::lock_guard lock(last->mutex);
  if (last->info == nullptr || *last->info != info)
    last->info = std::make_shared<const GangInfo>(std::move(info));
  return last->info;
}

}  // namespace

std::shared_ptr<Gang> make_fake_gang(const FakeGangOptions& options) {
  if (options.size < 1)
    throw InvalidArgument("fake gang " + options.name + ": size is " +
                          std::to_string(options.size) + "; must be 1 or more");
  if (options.rank < 0 || options.rank >= options.size)
    throw InvalidArgument("fake gang " + options.name + ": rank is " +
                          std::to_string(options.rank) + "; must be 0 to " +
                          std::to_string(options.size - 1));
  check_timeout("fake gang " + options.name, options.timeout);
  return std::make_shared<FakeGang>(shared_info({.name = options.name,
                                                 .root_ranks = {},
                                                 .device = options.device,
                                                 .timeout = options.timeout,
                                                 .backend = "fake",
                                                 .size = options.size}),
                                    options.rank);
}

}  // namespace gang
