#include "sim/nccl/nccl_clique.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "sim/collective_result.h"
#include "sim/engine.h"
#include "sim/gang_state.h"
#include "sim/reduction_pool.h"

namespace gang::sim {
namespace {

// Whether two members have launched the same operation, as far as NCCL would have to agree.
bool is_same(const NcclLaunch& one, const NcclLaunch& other) noexcept {
  return one.kind == other.kind && one.count == other.count && one.data_type == other.data_type &&
         (!reduces(one.kind) || one.reduce_operation == other.reduce_operation) &&
         one.peer == other.peer;
}

TensorView view_of(const NcclLaunch& launch, const std::byte* data, std::int64_t chunks) {
  if (data == nullptr) return {};
  return {const_cast<std::byte*>(data), launch.data_type, Shape::vector(launch.count * chunks)};
}

// A launch as the operation whose meaning the simulator computes. Pinned: it holds its lists.
class Meaning {
 public:
  Meaning(const NcclLaunch& launch, int rank, int size) {
    using enum OperationKind;
    const bool is_root = rank == launch.peer;
    const bool takes_all = launch.kind == reduce_scatter || launch.kind == all_to_all;
    const bool gives_all = launch.kind == all_gather || launch.kind == all_to_all;
    operation.collective.kind = launch.kind;
    operation.collective.data_type = launch.data_type;
    operation.collective.reduce_operation = launch.reduce_operation;
    operation.collective.peer = launch.peer;
    operation.collective.count = launch.count;
    operation.input = view_of(launch, launch.input, takes_all ? size : 1);
    const bool has_output = launch.kind != gather && (launch.kind != reduce || is_root);
    if (has_output) operation.output = view_of(launch, launch.output, gives_all ? size : 1);
    if (!is_root || (launch.kind != gather && launch.kind != scatter)) return;
    const bool is_scatter = launch.kind == scatter;
    const std::byte* const whole = is_scatter ? launch.input : launch.output;
    const std::size_t bytes = static_cast<std::size_t>(launch.count) * size_bytes(launch.data_type);
    for (int chunk = 0; chunk < size; ++chunk)
      list_.push_back(view_of(launch, whole + static_cast<std::size_t>(chunk) * bytes, 1));
    (is_scatter ? operation.inputs : operation.outputs) = list_;
  }
  Meaning(const Meaning&) = delete;
  Meaning& operator=(const Meaning&) = delete;

  Operation operation;

 private:
  std::vector<TensorView> list_;
};

bool is_complete(const NcclKernel& kernel) noexcept { return kernel.waiting.empty(); }

}  // namespace

NcclClique::NcclClique(Engine& engine, std::string name, std::vector<int> root_ranks)
    : engine_(engine),
      name_(std::move(name)),
      root_ranks_(std::move(root_ranks)),
      started_(root_ranks_.size(), 0) {
  assemblies.assign(root_ranks_.size(), 0);
}

std::vector<NcclKernel*> NcclClique::start(NcclKernel& kernel) {
  return kernel.is_collective() ? start_collective(kernel) : start_messages(kernel);
}

std::vector<NcclKernel*> NcclClique::start_collective(NcclKernel& kernel) {
  kernel.collective = started_[static_cast<std::size_t>(kernel.member)]++;
  kernel.waiting = {0};
  Slot& slot = slots_[kernel.collective];
  slot.members.resize(root_ranks_.size());
  if (slot.first == nullptr) slot.first = &kernel;
  if (!is_same(slot.first->operations.front(), kernel.operations.front())) {
    slot.differs = true;
    kernel.differs_from = slot.first;
    slot.first->differs_from = &kernel;
  }
  slot.members[static_cast<std::size_t>(kernel.member)] = &kernel;
  if (++slot.come < size() || slot.differs) return {};
  compute(slot);
  std::vector<NcclKernel*> complete = std::move(slot.members);
  slots_.erase(kernel.collective);
  return complete;
}

void NcclClique::compute(const Slot& slot) {
  GangState nobody(engine_);  // an operation of the simulator's own is one of a gang
  nobody.engine = nullptr;
  std::deque<Meaning> meanings;
  std::deque<PendingOperation> pendings;
  std::vector<PendingOperation*> members;
  for (const NcclKernel* kernel : slot.members) {
    meanings.emplace_back(kernel->operations.front(), kernel->member, size());
    pendings.emplace_back(meanings.back().operation, nobody, kernel->member, engine_.current());
    members.push_back(&pendings.back());
  }
  compute_result(members, engine_.reduction_pool());
  ++engine_.counts().completed_operations;
}

// Whether the two are one message; else both spin for ever.
bool NcclClique::pass(const Message& send, const Message& receive) {
  const NcclLaunch& from = send.kernel->operations[send.operation];
  const NcclLaunch& to = receive.kernel->operations[receive.operation];
  if (from.count != to.count || from.data_type != to.data_type) {
    send.kernel->differs_from = receive.kernel;
    receive.kernel->differs_from = send.kernel;
    return false;
  }
  if (to.output != from.input)
    std::memmove(to.output, from.input,
                 static_cast<std::size_t>(from.count) * size_bytes(from.data_type));
  std::erase(send.kernel->waiting, send.operation);
  std::erase(receive.kernel->waiting, receive.operation);
  return true;
}

std::vector<NcclKernel*> NcclClique::start_messages(NcclKernel& kernel) {
  std::vector<NcclKernel*> touched = {&kernel};
  for (std::size_t i = 0; i < kernel.operations.size(); ++i) kernel.waiting.push_back(i);
  for (std::size_t i = 0; i < kernel.operations.size(); ++i) {
    const NcclLaunch& launch = kernel.operations[i];
    const bool is_send = launch.kind == OperationKind::send;
    Link& link = links_[is_send ? std::pair(kernel.member, launch.peer)
                                : std::pair(launch.peer, kernel.member)];
    std::deque<Message>& partners = is_send ? link.receives : link.sends;
    const Message own{&kernel, i};
    if (partners.empty()) {
      (is_send ? link.sends : link.receives).push_back(own);
      continue;
    }
    const Message partner = partners.front();
    partners.pop_front();
    if (pass(is_send ? own : partner, is_send ? partner : own)) {
      touched.push_back(partner.kernel);
      ++engine_.counts().completed_operations;
    }
  }
  std::ranges::sort(touched, {}, [](const NcclKernel* one) { return one->member; });
  const auto again = std::ranges::unique(touched);
  touched.erase(again.begin(), again.end());
  std::erase_if(touched, [](const NcclKernel* one) { return !is_complete(*one); });
  return touched;
}

void NcclClique::withdraw(NcclKernel& kernel) {
  if (kernel.differs_from != nullptr && kernel.differs_from->differs_from == &kernel)
    kernel.differs_from->differs_from = nullptr;
  for (auto& [number, slot] : slots_)
    for (NcclKernel*& member : slot.members) {
      if (member == &kernel) member = nullptr;
      if (slot.first == &kernel) slot.first = nullptr;
      if (member != nullptr && member->differs_from == &kernel) member->differs_from = nullptr;
    }
  for (auto& [ranks, link] : links_) {
    const auto is_its = [&kernel](const Message& message) { return message.kernel == &kernel; };
    std::erase_if(link.sends, is_its);
    std::erase_if(link.receives, is_its);
  }
}

std::vector<int> NcclClique::awaited_by(const NcclKernel& kernel) const {
  std::vector<int> ranks;
  if (kernel.is_collective()) {
    const Slot& slot = slots_.at(kernel.collective);
    for (int member = 0; member < size(); ++member)
      if (slot.members[static_cast<std::size_t>(member)] == nullptr) ranks.push_back(member);
  } else {
    for (const std::size_t i : kernel.waiting) ranks.push_back(kernel.operations[i].peer);
  }
  if (ranks.empty() && kernel.differs_from != nullptr) ranks.push_back(kernel.differs_from->member);
  std::ranges::sort(ranks);
  const auto again = std::ranges::unique(ranks);
  ranks.erase(again.begin(), again.end());
  return ranks;
}

}  // namespace gang::sim
