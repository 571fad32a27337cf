#include "gang/nccl/nccl_collectives.h"

#include <cstring>
#include <string>

#include "gang/nccl/nccl_device.h"
#include "gang/reduction.h"

namespace gang {
namespace {

void check_message(OperationKind kind, int peer, int tag) {
  if (tag != 0)
    throw NotSupported(std::string(to_string(kind)) + ": tag is " +
                       (tag == any_tag ? "any_tag" : std::to_string(tag)) +
                       "; must be 0, since NCCL has no tags (sim and gloo do)");
  if (peer == any_rank)
    throw NotSupported(
        "recv: source_rank is any_rank; must be a rank, since NCCL cannot receive from any rank "
        "(sim "
        "and gloo can)");
}

// How NCCL can combine bools, as bytes of 0 and 1.
ReduceOperation on_bytes(ReduceOperation operation) noexcept {
  if (operation == ReduceOperation::bitwise_and) return ReduceOperation::min;
  if (operation == ReduceOperation::bitwise_or) return ReduceOperation::max;
  return operation;
}

bool is_reduced_on_host(const Operation& operation) noexcept {
  const Collective& call = operation.collective;
  const ReduceOperation reduce_operation =
      call.data_type == DataType::boolean ? on_bytes(call.reduce_operation) : call.reduce_operation;
  return is_scan(call.kind) ||
         (reduces(call.kind) && reduce_operation >= ReduceOperation::bitwise_and);
}

// What is launched while this exists starts together when the group ends.
class Group {
 public:
  explicit Group(NcclApi& api) : api_(api) { api_.begin_group(); }
  ~Group() {
    if (has_ended_) return;
    try {
      api_.end_group();
    } catch (...) {
      // What failed in the group is already being thrown, or a simulated run is over.
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void end() {
    has_ended_ = true;
    api_.end_group();
  }

 private:
  NcclApi& api_;
  bool has_ended_ = false;
};

// How many bytes of each rank the host reduces on this rank.
std::size_t bytes_to_reduce(const Operation& operation) noexcept {
  return operation.collective.kind == OperationKind::reduce_scatter ? operation.output.size_bytes()
                                                                    : operation.input.size_bytes();
}

}  // namespace

void check_supported(const Operation& operation, int rank) {
  const Collective& call = operation.collective;
  if (call.kind == OperationKind::send || call.kind == OperationKind::recv) {
    check_message(call.kind, call.peer, call.tag);
    if (call.peer == rank)
      throw NotSupported(std::string(to_string(call.kind)) +
                         ": NCCL passes messages of a rank to itself only in a batch; use another "
                         "rank, or a batch of the send and the receive");
  }
  for (const PointToPoint& entry : operation.extras->batch)
    check_message(entry.kind, entry.peer, entry.tag);
}

NcclCollectives::NcclCollectives(NcclMember& member, NcclFlight& flight) noexcept
    : member_(member), flight_(flight), api_(member.device()->api()) {}

bool NcclCollectives::is_root(const Operation& operation) const noexcept {
  return operation.collective.peer == member_.rank();
}

template <typename Launches>
void NcclCollectives::in_turn(const Launches& launches) {
  auto launching = member_.device()->launching();
  // Another thread may have launched on this communicator.
  while (!has_failed_ && api_.state(member_.communicator()) == NcclStatus::in_progress) {
    launching.unlock();
    settle();
    launching.lock();
  }
  if (has_failed_) return;
  launches();
  launching.unlock();
  settle();
}

// Connections may be made now, which takes time; meanwhile others may launch, or break the gang.
void NcclCollectives::settle() {
  const NcclStatus status = api_.await_ready(member_.communicator(), flight_.deadline());
  if (status == NcclStatus::success) return;
  has_failed_ = true;
  member_.break_with(status == NcclStatus::in_progress ? member_.timeout_cause(flight_.purpose())
                                                       : member_.status_cause(status));
}

void NcclCollectives::start_alone(const NcclLaunch& launch) {
  in_turn([this, &launch] { start(launch); });
}

void NcclCollectives::start(NcclLaunch launch) {
  if (launch.data_type == DataType::boolean) {
    launch.data_type = DataType::u8;
    launch.reduce_operation = on_bytes(launch.reduce_operation);
  }
  api_.launch(member_.communicator(), member_.stream(), launch, flight_.purpose());
}

void NcclCollectives::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!has_failed_ && bytes > 0 && to != from) api_.copy(member_.stream(), to, from, bytes);
}

// -- Tensors on the host --

TensorView NcclCollectives::staged_in(const Elements& tensor) {
  const std::size_t bytes = tensor.size_bytes();
  if (bytes == 0) return tensor.as_vector(api_.device());
  std::byte* const pinned = flight_.scratch(NcclMemory::pinned, bytes);
  std::memcpy(pinned, tensor.data(), bytes);
  std::byte* const there = flight_.scratch(NcclMemory::device, bytes);
  copy(there, pinned, bytes);
  return Elements(there, tensor.type(), tensor.count()).as_vector(api_.device());
}

TensorView NcclCollectives::staged_out(const Elements& tensor) {
  const std::size_t bytes = tensor.size_bytes();
  if (bytes == 0) return tensor.as_vector(api_.device());
  std::byte* const there = flight_.scratch(NcclMemory::device, bytes);
  return Elements(there, tensor.type(), tensor.count()).as_vector(api_.device());
}

std::vector<TensorView> NcclCollectives::staged(std::span<const TensorView> tensors,
                                                bool is_input) {
  std::vector<TensorView> there;
  there.reserve(tensors.size());
  for (const TensorView& tensor : tensors)
    there.push_back(is_input ? staged_in(tensor) : staged_out(tensor));
  return there;
}

void NcclCollectives::launch(const Operation& operation) {
  const bool is_on_host = member_.options().tensors == NcclTensors::on_host ||
                          operation.collective.kind == OperationKind::broadcast_objects;
  if (!is_on_host) return launch_on_device(operation);
  Operation there = operation;
  const auto inputs = staged(operation.extras->inputs, true);
  const auto outputs = staged(operation.extras->outputs, false);
  std::vector<PointToPoint> batch(operation.extras->batch.begin(), operation.extras->batch.end());
  there.input = staged_in(operation.input);
  there.output = staged_out(operation.output);
  for (PointToPoint& entry : batch)
    entry.tensor =
        entry.kind == OperationKind::send ? staged_in(entry.tensor) : staged_out(entry.tensor);
  OperationExtras extras = *operation.extras;
  extras.inputs = inputs;
  extras.outputs = outputs;
  extras.batch = batch;
  there.extras = &extras;
  launch_on_device(there);

  const auto back = [this](const Elements& to, const Elements& from) {
    if (to.size_bytes() == 0) return;
    std::byte* const pinned = flight_.scratch(NcclMemory::pinned, to.size_bytes());
    copy(pinned, from.data(), to.size_bytes());
    flight_.add_copy_back({to.data(), pinned, to.size_bytes()});
  };
  back(operation.output, there.output);
  for (std::size_t i = 0; i < outputs.size(); ++i) back(operation.extras->outputs[i], outputs[i]);
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (batch[i].kind == OperationKind::recv)
      back(operation.extras->batch[i].tensor, batch[i].tensor);
}

// -- Tensors on the device --

void NcclCollectives::launch_on_device(const Operation& operation) {
  const Collective& call = operation.collective;
  if (!operation.extras->output_splits.empty()) return uneven_exchange(operation);
  if (call.kind == OperationKind::batch) return messages(operation.extras->batch);
  if (call.kind == OperationKind::send || call.kind == OperationKind::recv) {
    const PointToPoint entry = message_of(operation);
    return messages({&entry, 1});
  }
  const bool is_of_objects = call.kind == OperationKind::broadcast_objects;
  const std::int64_t count = is_of_objects ? operation.input.count() : call.count;
  if (call.kind == OperationKind::barrier || count == 0) return barrier();
  if (is_reduced_on_host(operation)) return reduction_on_host(operation);
  switch (call.kind) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
    case OperationKind::reduce_scatter:
      return reduction(operation);
    case OperationKind::all_gather_to_list:
      return all_gather_to_list(operation);
    case OperationKind::gather:
      return gather(operation);
    case OperationKind::scatter:
      return scatter(operation);
    case OperationKind::all_to_all:
      return all_to_all(operation);
    default:  // all_gather and broadcasts
      return start_alone({.kind = is_of_objects ? OperationKind::broadcast : call.kind,
                          .input = operation.input.data(),
                          .output = operation.output.data(),
                          .count = operation.input.count(),
                          .data_type = operation.input.type(),
                          .peer = call.peer});
  }
}

void NcclCollectives::barrier() {
  start_alone({.kind = OperationKind::all_reduce,
               .input = member_.token(),
               .output = member_.token(),
               .count = 1,
               .data_type = DataType::u8,
               .reduce_operation = ReduceOperation::max});
}

void NcclCollectives::reduction(const Operation& operation) {
  const Collective& call = operation.collective;
  start_alone({.kind = call.kind,
               .input = operation.input.data(),
               .output = operation.output.data(),
               .count = call.count,
               .data_type = call.data_type,
               .reduce_operation = call.reduce_operation,
               .peer = call.kind == OperationKind::reduce ? call.peer : no_rank});
}

void NcclCollectives::reduction_on_host(const Operation& operation) {
  const Collective& call = operation.collective;
  const std::size_t bytes = bytes_to_reduce(operation);
  const bool is_reduce = call.kind == OperationKind::reduce;
  // The ranks whose parts this one gets.
  const auto own = static_cast<std::size_t>(member_.rank());
  const std::size_t ranks = call.kind == OperationKind::scan             ? own + 1
                            : call.kind == OperationKind::exclusive_scan ? own
                                                                         : size();
  const bool receives = !is_reduce || is_root(operation);
  std::byte* const gathered =
      receives ? flight_.scratch(NcclMemory::device, bytes * size()) : nullptr;
  start_alone({.kind = is_reduce                                    ? OperationKind::gather
                       : call.kind == OperationKind::reduce_scatter ? OperationKind::all_to_all
                                                                    : OperationKind::all_gather,
               .input = operation.input.data(),
               .output = gathered,
               .count = static_cast<std::int64_t>(bytes / size_bytes(call.data_type)),
               .data_type = call.data_type,
               .peer = is_reduce ? call.peer : no_rank});
  if (!receives || ranks == 0 || has_failed_) return;
  std::byte* const pinned = flight_.scratch(NcclMemory::pinned, bytes * ranks);
  std::byte* const result = flight_.scratch(NcclMemory::pinned, bytes);
  copy(pinned, gathered, bytes * ranks);
  api_.call(member_.stream(), [pinned, result, bytes, ranks, call] {
    std::vector<const void*> blocks;
    for (std::size_t rank = 0; rank < ranks; ++rank) blocks.push_back(pinned + rank * bytes);
    reduce_block(call.reduce_operation, call.data_type, result, blocks.data(),
                 static_cast<int>(ranks), bytes / size_bytes(call.data_type));
  });
  copy(operation.output.data(), result, bytes);
}

void NcclCollectives::copy_out(std::span<const TensorView> outputs, const std::byte* from) {
  for (const TensorView& output : outputs) {
    copy(output.data(), from, output.size_bytes());
    from += output.size_bytes();
  }
}

void NcclCollectives::all_gather_to_list(const Operation& operation) {
  const Elements& input = operation.input;
  std::byte* const all = flight_.scratch(NcclMemory::device, input.size_bytes() * size());
  start_alone({.kind = OperationKind::all_gather,
               .input = input.data(),
               .output = all,
               .count = input.count(),
               .data_type = input.type()});
  copy_out(operation.extras->outputs, all);
}

void NcclCollectives::gather(const Operation& operation) {
  const Elements& input = operation.input;
  std::byte* const all = is_root(operation)
                             ? flight_.scratch(NcclMemory::device, input.size_bytes() * size())
                             : nullptr;
  start_alone({.kind = OperationKind::gather,
               .input = input.data(),
               .output = all,
               .count = input.count(),
               .data_type = input.type(),
               .peer = operation.collective.peer});
  copy_out(operation.extras->outputs, all);
}

void NcclCollectives::scatter(const Operation& operation) {
  const Elements& output = operation.output;
  std::byte* all = nullptr;
  if (is_root(operation)) {
    all = flight_.scratch(NcclMemory::device, output.size_bytes() * size());
    for (std::size_t rank = 0; rank < operation.extras->inputs.size(); ++rank)
      copy(all + rank * output.size_bytes(), operation.extras->inputs[rank].data(),
           output.size_bytes());
  }
  start_alone({.kind = OperationKind::scatter,
               .input = all,
               .output = output.data(),
               .count = output.count(),
               .data_type = output.type(),
               .peer = operation.collective.peer});
}

void NcclCollectives::all_to_all(const Operation& operation) {
  start_alone({.kind = OperationKind::all_to_all,
               .input = operation.input.data(),
               .output = operation.output.data(),
               .count = operation.input.count() / static_cast<std::int64_t>(size()),
               .data_type = operation.input.type()});
}

// An all_to_all with splits, or an all_gather with counts, where each rank gets the whole input.
// Pairs without elements exchange nothing. A barrier comes first, so that the operation orders and
// matches even if this rank has no elements at all.
void NcclCollectives::uneven_exchange(const Operation& operation) {
  barrier();
  in_turn([&] { exchange_pairs(operation); });
}

void NcclCollectives::exchange_pairs(const Operation& operation) {
  using enum OperationKind;
  const OperationExtras& extras = *operation.extras;
  const bool gives_all = extras.input_splits.empty();
  const DataType type = operation.input.type();
  const auto bytes_of = [type](std::int64_t count) {
    return static_cast<std::size_t>(count) * size_bytes(type);
  };
  Group group(api_);
  const std::byte* given = operation.input.data();
  std::byte* got = operation.output.data();
  for (int rank = 0; const std::int64_t from : extras.output_splits) {
    const std::int64_t to =
        gives_all ? operation.input.count() : extras.input_splits[static_cast<std::size_t>(rank)];
    if (to > 0) start({.kind = send, .input = given, .count = to, .data_type = type, .peer = rank});
    if (from > 0)
      start({.kind = recv, .output = got, .count = from, .data_type = type, .peer = rank});
    if (!gives_all) given += bytes_of(to);
    got += bytes_of(from);
    ++rank;
  }
  group.end();
}

// A message without elements carries one, which no rank reads.
void NcclCollectives::messages(std::span<const PointToPoint> entries) {
  if (!entries.empty()) in_turn([&] { pass_messages(entries); });
}

void NcclCollectives::pass_messages(std::span<const PointToPoint> entries) {
  Group group(api_);
  for (const PointToPoint& entry : entries) {
    NcclLaunch message{.kind = entry.kind,
                       .input = entry.tensor.data(),
                       .output = entry.tensor.data(),
                       .count = entry.tensor.count(),
                       .data_type = entry.tensor.type(),
                       .peer = entry.peer};
    if (message.count == 0) {
      message.input = member_.token();
      message.output = member_.token() + 1;
      message.count = 1;
      message.data_type = DataType::u8;
    }
    if (entry.kind == OperationKind::recv && entries.size() == 1)
      flight_.set_received({entry.peer, entry.tag});
    start(message);
  }
  group.end();
}

}  // namespace gang
