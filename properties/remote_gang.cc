#include "properties/remote_gang.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gang/parent_gang.h"

namespace gang::properties {
namespace {

using harness::Client;
using harness::OperationMessage;
using harness::OperationResult;

// The tensors that an operation reads and writes on this rank, in the order of the protocol.
struct Buffers {
  std::vector<Elements> inputs;
  std::vector<Elements> outputs;
};

Buffers buffers_of(const Operation& operation, int rank) {
  const Collective& call = operation.collective;
  const bool is_root = call.peer == rank;
  Buffers buffers{{operation.input}, {operation.output}};
  switch (call.kind) {
    case OperationKind::broadcast:
      return is_root ? Buffers{{operation.input}, {}} : Buffers{{}, {operation.output}};
    case OperationKind::reduce:
      if (!is_root) buffers.outputs.clear();
      return buffers;
    case OperationKind::gather:
      buffers.outputs.assign(operation.extras->outputs.begin(), operation.extras->outputs.end());
      return buffers;
    case OperationKind::scatter:
      buffers.inputs.assign(operation.extras->inputs.begin(), operation.extras->inputs.end());
      return buffers;
    case OperationKind::send:
      return {{operation.input}, {}};
    case OperationKind::recv:
      return {{}, {operation.output}};
    case OperationKind::barrier:
    case OperationKind::monitored_barrier:
    case OperationKind::create_gang:
    case OperationKind::split:
      return {};
    default:
      return buffers;
  }
}

std::vector<std::byte> bytes_of(const std::vector<Elements>& tensors) {
  std::vector<std::byte> bytes;
  for (const Elements& tensor : tensors)
    bytes.insert(bytes.end(), tensor.data(), tensor.data() + tensor.size_bytes());
  return bytes;
}

// Throws the error of an operation that failed.
Received deliver(const OperationResult& result, const std::vector<Elements>& outputs) {
  if (result.status != harness::Status::done) throw Error(result.error);
  std::size_t begin = 0;
  for (const Elements& output : outputs) {
    const std::size_t size = output.size_bytes();
    if (size > 0)
      std::memcpy(output.data(), std::span(result.data).subspan(begin, size).data(), size);
    begin += size;
  }
  if (begin != result.data.size()) throw Error("the conductor sent data of another size");
  return {.source_rank = result.source, .tag = result.tag};
}

class RemoteWork final : public WorkState {
 public:
  RemoteWork(Client& client, std::uint64_t id, std::vector<Elements> outputs)
      : client_(client), id_(id), outputs_(std::move(outputs)) {}

  bool wait(Duration timeout) override {
    if (timeout != no_timeout)
      throw NotSupported("wait: a remote operation has no timeout of its own");
    if (!result_) result_ = client_.wait(id_);
    received_ = deliver(*result_, outputs_);
    return true;
  }
  bool test() override { return result_ || client_.test(id_) ? wait(no_timeout) : false; }
  Received received() const override { return received_; }
  std::size_t wait_any(std::span<WorkState* const>) override {
    throw NotSupported("wait_any: remote operations are waited for one by one");
  }
  void dropped() noexcept override {
    try {
      if (!result_) client_.tell(harness::DropMessage{id_, {}});
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
    }
  }

 private:
  Client& client_;
  std::uint64_t id_;
  std::vector<Elements> outputs_;
  std::optional<OperationResult> result_;
  Received received_;
};

class RemoteGang final : public ParentGang {
 public:
  // `next_group`: what the next gang of this process is called.
  RemoteGang(Client& client, std::shared_ptr<std::uint32_t> next_group, GangInfo info, int rank,
             std::uint32_t group)
      : ParentGang(std::make_shared<const GangInfo>(std::move(info)), rank),
        client_(client),
        next_group_(std::move(next_group)),
        group_(group) {}

 protected:
  Work do_start(Operation& operation) override {
    const std::uint64_t id = client_.start(message_of(operation));
    return Work(std::make_shared<RemoteWork>(client_, id, buffers_of(operation, rank()).outputs));
  }

  Received do_run(Operation& operation) override {
    OperationMessage message = message_of(operation);
    if (operation.extras->created != nullptr) message.result = ++*next_group_;
    const std::uint32_t made = message.result;
    const OperationResult result = client_.call(std::move(message));
    const Received received = deliver(result, buffers_of(operation, rank()).outputs);
    if (operation.extras->created != nullptr)
      *operation.extras->created = child(result.ranks, made);
    return received;
  }

  void do_abort() override { client_.tell(harness::AbortMessage{group_}); }
  void do_close() noexcept override {}

 private:
  OperationMessage message_of(const Operation& operation) const {
    const Collective& call = operation.collective;
    OperationMessage message;
    message.group = group_;
    message.kind = call.kind;
    message.type = call.data_type;
    message.reduce = call.reduce_operation;
    message.peer = call.peer;
    message.tag = call.tag;
    message.count = call.count;
    message.label = call.label;
    message.call_site = call.call_site;
    message.data = bytes_of(buffers_of(operation, rank()).inputs);
    if (is_point_to_point(call.kind)) {
      message.from_any = call.peer == any_rank;
      message.any_tag = call.tag == any_tag;
    }
    switch (call.kind) {
      case OperationKind::all_to_all:
        message.count = operation.input.count();
        message.first.assign(operation.extras->input_splits.begin(),
                             operation.extras->input_splits.end());
        message.second.assign(operation.extras->output_splits.begin(),
                              operation.extras->output_splits.end());
        break;
      case OperationKind::all_gather:
        message.count = operation.input.count();
        message.first.assign(operation.extras->output_splits.begin(),
                             operation.extras->output_splits.end());
        break;
      case OperationKind::monitored_barrier:
        message.count = operation.timeout == no_timeout ? 0 : operation.timeout.count();
        message.all_missing = operation.extras->wait_all_ranks;
        break;
      case OperationKind::create_gang:
        message.label = operation.extras->gang_options->name;
        message.first.assign(operation.extras->ranks.begin(), operation.extras->ranks.end());
        break;
      case OperationKind::split:
        message.label = operation.extras->gang_options->name;
        message.first = {operation.extras->color, operation.extras->key};
        break;
      case OperationKind::batch:
      case OperationKind::broadcast_objects:
      case OperationKind::all_gather_to_list:
        throw NotSupported("the protocol has no such operation");
      default:
        break;
    }
    if (!has_root(call.kind) && !is_point_to_point(call.kind)) message.peer = 0;
    return message;
  }

  std::shared_ptr<Gang> child(const std::vector<int>& ranks, std::uint32_t group) const {
    const auto own = std::ranges::find(ranks, client_.rank());
    if (own == ranks.end()) return nullptr;
    GangInfo info;
    info.name = name();
    info.root_ranks = ranks;
    info.backend = this->info().backend;
    info.size = static_cast<int>(ranks.size());
    return std::make_shared<RemoteGang>(client_, next_group_, std::move(info),
                                        static_cast<int>(own - ranks.begin()), group);
  }

  Client& client_;
  std::shared_ptr<std::uint32_t> next_group_;
  std::uint32_t group_;
};

}  // namespace

std::shared_ptr<Gang> make_remote_root(Client& client) {
  GangInfo info;
  info.name = "root";
  info.root_ranks.resize(static_cast<std::size_t>(client.world_size()));
  std::iota(info.root_ranks.begin(), info.root_ranks.end(), 0);
  info.backend = "remote";
  info.size = client.world_size();
  return std::make_shared<RemoteGang>(client, std::make_shared<std::uint32_t>(0), std::move(info),
                                      client.rank(), 0);
}

}  // namespace gang::properties
