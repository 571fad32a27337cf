#include "sim/backends/nccl/nccl_wait_chain.h"

#include <algorithm>
#include <set>

#include "sim/engine/engine.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

const NcclHostWait* host_wait_of(const Task& context) {
  if (context.wait == nullptr || context.wait->reason != Wait::Reason::message) return nullptr;
  return dynamic_cast<const NcclHostWait*>(context.wait->message());
}

bool is_partner(const NcclLaunch& one, int member, const NcclLaunch& other, int other_member) {
  using enum OperationKind;
  return ((one.kind == send && other.kind == recv) || (one.kind == recv && other.kind == send)) &&
         one.peer == other_member && other.peer == member;
}

}  // namespace

NcclWaitChain::NcclWaitChain(SimulatedNccl& nccl, const BlockedWorld& blocked) : nccl_(nccl) {
  for (const Task* context : blocked.dead_contexts())
    if (host_wait_of(*context) != nullptr) dead_[context->rank->rank].push_back(context);
}

const Task* NcclWaitChain::context_of(int rank) const {
  const auto found = dead_.find(rank);
  return found != dead_.end() ? found->second.front() : nullptr;
}

std::vector<const NcclHostWait*> NcclWaitChain::waits_of(int rank) const {
  std::vector<const NcclHostWait*> waits;
  if (const auto found = dead_.find(rank); found != dead_.end())
    for (const Task* context : found->second) waits.push_back(host_wait_of(*context));
  return waits;
}

std::vector<int> NcclWaitChain::hosts_of(const std::vector<int>& ranks) const {
  std::set<int> hosts;
  for (const int rank : ranks) hosts.insert(nccl_.gpu_of(rank).driver());
  return {hosts.begin(), hosts.end()};
}

std::vector<int> NcclWaitChain::devices_of(int host) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < nccl_.world().options.world_size; ++rank)
    if (nccl_.gpu_of(rank).driver() == host) ranks.push_back(rank);
  return ranks;
}

// The member's queued kernel that would match `kernel`; null if it has launched none.
const NcclKernel* NcclWaitChain::partner_of(const NcclKernel& kernel, int member) const {
  const int rank = kernel.clique->root_rank_of(member);
  std::uint64_t collective = kernel.clique->started(member);
  for (const NcclKernel* other : nccl_.gpu_of(rank).kernels()) {
    if (other->clique != kernel.clique || other->state != NcclKernel::State::queued) continue;
    if (kernel.is_collective()) {
      if (other->is_collective() && collective++ == kernel.collective) return other;
      continue;
    }
    for (const std::size_t i : kernel.waiting)
      for (const NcclLaunch& launch : other->operations)
        if (is_partner(kernel.operations[i], kernel.member, launch, member)) return other;
  }
  return nullptr;
}

std::vector<NcclWaiter> NcclWaitChain::awaited_by(const NcclWaiter& waiter) const {
  std::vector<NcclWaiter> awaited;
  const auto add = [&awaited](const NcclKernel& kernel) {
    awaited.push_back({&kernel, kernel.gpu->rank()});
  };
  if (waiter.kernel == nullptr) {
    for (const NcclHostWait* wait : waits_of(waiter.rank)) {
      for (const NcclKernel* kernel : wait->kernels()) add(*kernel);
      if (wait->kernels().empty())
        for (const int rank : wait->awaited_ranks()) awaited.push_back({nullptr, rank});
    }
  } else if (waiter.kernel->state == NcclKernel::State::queued) {
    for (const NcclKernel* ahead : waiter.kernel->gpu->ahead_of(*waiter.kernel)) add(*ahead);
  } else {
    for (const int member : waiter.kernel->clique->awaited_by(*waiter.kernel)) {
      if (const NcclKernel* partner = partner_of(*waiter.kernel, member))
        add(*partner);
      else
        awaited.push_back(
            {nullptr, nccl_.gpu_of(waiter.kernel->clique->root_rank_of(member)).driver()});
    }
  }
  return awaited;
}

std::vector<NcclWaiter> NcclWaitChain::find_cycle() const {
  std::vector<NcclWaiter> finished;
  std::vector<NcclWaiter> path;
  std::vector<std::vector<NcclWaiter>> open;  // per path element, successors not yet visited
  const auto contains = [](const std::vector<NcclWaiter>& list, const NcclWaiter& one) {
    return std::ranges::find(list, one) != list.end();
  };
  for (const auto& [rank, contexts] : dead_) {
    const NcclWaiter start{nullptr, rank};
    if (contains(finished, start)) continue;
    path = {start};
    open = {awaited_by(start)};
    while (!path.empty()) {
      if (open.back().empty()) {
        finished.push_back(path.back());
        path.pop_back();
        open.pop_back();
        continue;
      }
      const NcclWaiter next = open.back().back();
      open.back().pop_back();
      const auto place = std::ranges::find(path, next);
      if (place != path.end()) return {place, path.end()};
      if (contains(finished, next)) continue;
      path.push_back(next);
      open.push_back(awaited_by(next));
    }
  }
  return {};
}

std::vector<const NcclKernel*> NcclWaitChain::kernels() const {
  std::vector<NcclWaiter> seen;
  for (const auto& [rank, contexts] : dead_) seen.push_back({nullptr, rank});
  for (std::size_t i = 0; i < seen.size(); ++i)
    for (const NcclWaiter& next : awaited_by(seen[i]))
      if (std::ranges::find(seen, next) == seen.end()) seen.push_back(next);
  std::vector<const NcclKernel*> kernels;
  for (const NcclWaiter& one : seen)
    if (one.kernel != nullptr) kernels.push_back(one.kernel);
  std::ranges::sort(kernels, {}, [](const NcclKernel* kernel) {
    return std::pair(kernel->gpu->rank(), kernel->serial);
  });
  return kernels;
}

}  // namespace gang::sim
