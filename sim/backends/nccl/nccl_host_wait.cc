#include "sim/backends/nccl/nccl_host_wait.h"

#include <set>

#include <fmt/format.h>

#include "sim/backends/nccl/simulated_nccl.h"

namespace gang::sim {
namespace {

void add_awaited(const NcclKernel& kernel, std::set<const NcclKernel*>& seen,
                 std::set<int>& ranks) {
  if (!seen.insert(&kernel).second) return;
  if (kernel.state == NcclKernel::State::running)
    for (const int member : kernel.clique->awaited_by(kernel))
      ranks.insert(kernel.clique->root_rank_of(member));
  for (const NcclKernel* ahead : kernel.gpu->ahead_of(kernel)) add_awaited(*ahead, seen, ranks);
}

}  // namespace

std::vector<int> ranks_awaited_by(const NcclKernel& kernel) {
  std::set<const NcclKernel*> seen;
  std::set<int> ranks;
  add_awaited(kernel, seen, ranks);
  return {ranks.begin(), ranks.end()};
}

std::vector<const NcclKernel*> NcclHostWait::kernels() const {
  std::vector<const NcclKernel*> found;
  if (reason == Reason::idle)
    if (const NcclKernel* kernel = gpu->blocker()) found.push_back(kernel);
  if (reason == Reason::launch) found.push_back(launched);
  if (reason == Reason::events) {
    for (const GpuEvent* event : events)
      if (const NcclKernel* kernel = gpu->blocker_of(*event)) found.push_back(kernel);
  }
  return found;
}

std::vector<int> NcclHostWait::awaited_ranks() const {
  std::set<int> ranks;
  const auto add = [this, &ranks](const std::vector<int>& devices) {
    for (const int device : devices)
      ranks.insert(nccl != nullptr ? nccl->gpu_of(device).driver() : device);
  };
  if (reason == Reason::assembly) add(assembly->missing());
  if (reason == Reason::meeting) add(missing());
  for (const NcclKernel* kernel : kernels()) add(ranks_awaited_by(*kernel));
  return {ranks.begin(), ranks.end()};
}

const NcclPurpose* NcclHostWait::purpose_here() const {
  if (purpose != nullptr) return purpose;
  const auto found = kernels();
  return found.empty() ? nullptr : &found.front()->purpose;
}

const Collective* NcclHostWait::call() const {
  const NcclPurpose* const here = purpose_here();
  return here != nullptr ? &here->call : nullptr;
}

const GangInfo* NcclHostWait::gang() const {
  const NcclPurpose* const here = purpose_here();
  return here != nullptr ? here->gang.get() : nullptr;
}

std::string NcclHostWait::describe() const {
  switch (reason) {
    case Reason::events:
      return "a stream";
    case Reason::idle:
      return fmt::format("{}: its device must become idle", what);
    case Reason::launch:
      return "a blocking launch";
    case Reason::assembly:
      return what;
    case Reason::meeting:
      return "a meeting of hosts";
  }
  return "";
}

}  // namespace gang::sim
