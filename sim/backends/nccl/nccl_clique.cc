#include "sim/backends/nccl/nccl_clique.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "sim/engine/engine.h"
#include "sim/matching/collective_result.h"
#include "sim/matching/reduction_pool.h"
#include "sim/state/gang_state.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// Whether two launches agree in everything that NCCL requires to match.
bool is_same(const NcclLaunch& one, const NcclLaunch& other) noexcept {
  return one.kind == other.kind && one.count == other.count && one.data_type == other.data_type &&
         (!reduces(one.kind) || one.reduce_operation == other.reduce_operation) &&
         one.peer == other.peer;
}

TensorView view_of(const NcclLaunch& launch, const std::byte* data, std::int64_t chunks) {
  if (data == nullptr) return {};
  return {const_cast<std::byte*>(data), launch.data_type, Shape::vector(launch.count * chunks)};
}

// Expresses a launch as an operation of the simulator. Pinned because it owns its lists.
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
    (is_scatter ? extras_.inputs : extras_.outputs) = list_;
    operation.extras = &extras_;
  }
  Meaning(const Meaning&) = delete;
  Meaning& operator=(const Meaning&) = delete;

  Operation operation;

 private:
  std::vector<TensorView> list_;
  OperationExtras extras_;
};

// Those of `kernels` that no longer wait for anything, ordered by rank.
std::vector<NcclKernel*> complete_among(std::vector<NcclKernel*> kernels) {
  std::ranges::sort(kernels, {}, [](const NcclKernel* one) { return one->member; });
  const auto again = std::ranges::unique(kernels);
  kernels.erase(again.begin(), again.end());
  std::erase_if(kernels, [](const NcclKernel* one) { return !one->waiting.empty(); });
  return kernels;
}

TimePoint end_of(const LinkFate& fate) noexcept {
  if (fate.kind == LinkFate::Kind::is_lost) return TimePoint::max();
  return fate.kind == LinkFate::Kind::is_held ? fate.until : TimePoint{0};
}

std::size_t bytes_of(const NcclLaunch& launch) noexcept {
  return static_cast<std::size_t>(launch.count) * size_bytes(launch.data_type);
}

}  // namespace

NcclClique::NcclClique(World& world, std::string name, std::vector<int> root_ranks)
    : world_(world),
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
    slot.never_completes = true;
    kernel.differs_from = slot.first;
    slot.first->differs_from = &kernel;
  }
  slot.members[static_cast<std::size_t>(kernel.member)] = &kernel;
  if (++slot.come < size() || slot.never_completes) return {};
  if (world_.interference != nullptr) [[unlikely]]
    cross_links(slot);
  if (slot.held_until > world_.engine.now()) return {};
  return complete(kernel.collective);
}

// The data of a collective goes around a ring of the members.
void NcclClique::cross_links(Slot& slot) {
  for (int member = 0; member < size() && size() > 1; ++member) {
    const int next = (member + 1) % size();
    const NcclKernel& kernel = *slot.members[static_cast<std::size_t>(member)];
    const LinkFate fate =
        world_.interference->links().fate_of({.from = root_rank_of(member),
                                              .to = root_rank_of(next),
                                              .bytes = bytes_of(kernel.operations.front())},
                                             kernel.purpose.call);
    slot.held_until = std::max(slot.held_until, end_of(fate));
    if (fate.kind == LinkFate::Kind::passes && fate.fault != nullptr)
      slot.corrupted[next] = fate.fault;
  }
}

std::vector<NcclKernel*> NcclClique::complete(std::uint64_t collective) {
  Slot& slot = slots_.at(collective);
  compute(slot);
  std::vector<NcclKernel*> complete = std::move(slot.members);
  slots_.erase(collective);
  return complete;
}

std::vector<NcclKernel*> NcclClique::release() {
  const TimePoint now = world_.engine.now();
  std::vector<std::uint64_t> due;
  for (const auto& [collective, slot] : slots_)
    if (slot.come == size() && !slot.never_completes && slot.held_until <= now)
      due.push_back(collective);
  std::vector<NcclKernel*> released;
  for (const std::uint64_t collective : due)
    for (NcclKernel* kernel : complete(collective)) released.push_back(kernel);
  std::vector<NcclKernel*> touched;
  for (const HeldMessage& held : held_) {
    if (held.until > now) continue;
    pass(held.send, held.receive);
    touched.push_back(held.send.kernel);
    touched.push_back(held.receive.kernel);
  }
  std::erase_if(held_, [now](const HeldMessage& held) { return held.until <= now; });
  for (NcclKernel* kernel : complete_among(std::move(touched))) released.push_back(kernel);
  return released;
}

void NcclClique::compute(const Slot& slot) {
  GangState placeholder(world_);  // the simulator's operations require a gang
  placeholder.world = nullptr;
  std::deque<Meaning> meanings;
  std::deque<PendingOperation> pendings;
  std::vector<PendingOperation*> members;
  for (const NcclKernel* kernel : slot.members) {
    meanings.emplace_back(kernel->operations.front(), kernel->member, size());
    pendings.emplace_back(meanings.back().operation, placeholder, kernel->member,
                          world_.engine.current());
    members.push_back(&pendings.back());
  }
  compute_result(members, world_.reduction_pool);
  for (const auto& [member, fault] : slot.corrupted) {
    const Elements& output = meanings[static_cast<std::size_t>(member)].operation.output;
    if (output.size_bytes() > 0) world_.interference->links().corrupt_message(output, *fault);
  }
  ++world_.counts.completed_operations;
}

// Whether the send and the receive match. If not, both spin forever.
bool NcclClique::fits(const Message& send, const Message& receive) {
  const NcclLaunch& from = send.kernel->operations[send.operation];
  const NcclLaunch& to = receive.kernel->operations[receive.operation];
  if (from.count == to.count && from.data_type == to.data_type) return true;
  send.kernel->differs_from = receive.kernel;
  receive.kernel->differs_from = send.kernel;
  return false;
}

void NcclClique::pass(const Message& send, const Message& receive) {
  const NcclLaunch& from = send.kernel->operations[send.operation];
  const NcclLaunch& to = receive.kernel->operations[receive.operation];
  if (to.output != from.input) std::memmove(to.output, from.input, bytes_of(from));
  std::erase(send.kernel->waiting, send.operation);
  std::erase(receive.kernel->waiting, receive.operation);
  ++world_.counts.completed_operations;
}

// Returns whether the message arrives immediately.
bool NcclClique::deliver(const Message& send, const Message& receive) {
  if (world_.interference == nullptr || send.kernel == receive.kernel) {
    pass(send, receive);
    return true;
  }
  const NcclLaunch& to = receive.kernel->operations[receive.operation];
  const LinkFate fate =
      world_.interference->links().fate_of({.from = root_rank_of(send.kernel->member),
                                            .to = root_rank_of(receive.kernel->member),
                                            .bytes = bytes_of(to)},
                                           send.kernel->purpose.call);
  if (end_of(fate) > world_.engine.now()) {
    held_.push_back({send, receive, end_of(fate)});
    return false;
  }
  pass(send, receive);
  if (fate.fault != nullptr && fate.kind == LinkFate::Kind::passes)
    world_.interference->links().corrupt_message({to.output, to.data_type, to.count}, *fate.fault);
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
    const Message& from = is_send ? own : partner;
    const Message& to = is_send ? partner : own;
    if (fits(from, to) && deliver(from, to)) touched.push_back(partner.kernel);
  }
  return complete_among(std::move(touched));
}

void NcclClique::withdraw(NcclKernel& kernel) {
  if (kernel.differs_from != nullptr && kernel.differs_from->differs_from == &kernel)
    kernel.differs_from->differs_from = nullptr;
  for (auto& [number, slot] : slots_)
    for (NcclKernel*& member : slot.members) {
      if (member == &kernel) {
        member = nullptr;
        slot.never_completes = true;
      }
      if (slot.first == &kernel) slot.first = nullptr;
      if (member != nullptr && member->differs_from == &kernel) member->differs_from = nullptr;
    }
  for (auto& [ranks, link] : links_) {
    const auto is_its = [&kernel](const Message& message) { return message.kernel == &kernel; };
    std::erase_if(link.sends, is_its);
    std::erase_if(link.receives, is_its);
  }
  std::erase_if(held_, [&kernel](const HeldMessage& held) {
    return held.send.kernel == &kernel || held.receive.kernel == &kernel;
  });
}

// Whether the message is held but not lost, so that it waits for no rank.
bool NcclClique::is_on_its_way(const NcclKernel& kernel, std::size_t operation) const {
  return std::ranges::any_of(held_, [&](const HeldMessage& held) {
    const auto is_it = [&](const Message& message) {
      return message.kernel == &kernel && message.operation == operation;
    };
    return held.until != TimePoint::max() && (is_it(held.send) || is_it(held.receive));
  });
}

std::vector<int> NcclClique::awaited_by(const NcclKernel& kernel) const {
  std::vector<int> ranks;
  if (kernel.is_collective()) {
    const Slot& slot = slots_.at(kernel.collective);
    for (int member = 0; member < size(); ++member)
      if (slot.members[static_cast<std::size_t>(member)] == nullptr ||
          (slot.held_until == TimePoint::max() && member != kernel.member))
        ranks.push_back(member);
    if (ranks.empty())  // those that launched another operation
      for (const NcclKernel* member : slot.members)
        if (!is_same(member->operations.front(), kernel.operations.front()))
          ranks.push_back(member->member);
  } else {
    for (const std::size_t i : kernel.waiting)
      if (!is_on_its_way(kernel, i)) ranks.push_back(kernel.operations[i].peer);
  }
  if (ranks.empty() && kernel.differs_from != nullptr) ranks.push_back(kernel.differs_from->member);
  std::ranges::sort(ranks);
  const auto again = std::ranges::unique(ranks);
  ranks.erase(again.begin(), again.end());
  return ranks;
}

}  // namespace gang::sim
