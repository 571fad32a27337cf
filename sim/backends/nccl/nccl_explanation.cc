#include "sim/backends/nccl/nccl_explanation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/backends/nccl/nccl_wait_chain.h"
#include "sim/backends/stuck_gang.h"
#include "sim/engine/engine.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

std::string call_text(const NcclPurpose& purpose) {
  return fmt::format("{} on {} at {}", to_string(describe(purpose.call, *purpose.gang)),
                     label_of(*purpose.gang), to_string(purpose.call.call_site));
}

Finding finding_for(const NcclPurpose& purpose, std::string_view id) {
  return {.id = std::string(id),
          .gang = gang_label_of(*purpose.gang),
          .call = describe(purpose.call, *purpose.gang),
          .location = location_of(purpose.call.call_site)};
}

std::vector<int> sorted(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  const auto again = std::ranges::unique(ranks);
  ranks.erase(again.begin(), again.end());
  return ranks;
}

class Explanation {
 public:
  Explanation(SimulatedNccl& nccl, const BlockedWorld& blocked, VerdictCertainty& certainty,
              FindingLog& findings)
      : world_(nccl.world()),
        blocked_(blocked),
        certainty_(certainty),
        findings_(findings),
        chain_(nccl, blocked) {}

  bool explain() { return explain_mismatches() || explain_missing() || explain_cycle(); }

 private:
  void add(Finding finding) {
    for (int rank = 0; rank < world_.options.world_size && !finding.certainty; ++rank)
      if (const Task* context = chain_.context_of(rank))
        finding.certainty = certainty_.of(*context);
    findings_.add(std::move(finding));
  }

  bool explain_mismatches();
  bool explain_missing();
  bool is_consequence(const std::vector<int>& gone, const NcclPurpose& purpose,
                      const std::vector<int>& waiting);
  bool explain_cycle();
  Finding cycle_finding(const std::vector<NcclWaiter>& cycle) const;
  Finding inversion(const std::vector<NcclWaiter>& cycle) const;
  Finding synchronization(const NcclHostWait& wait, const NcclKernel& kernel) const;
  Finding blocking_launch(const NcclKernel& kernel) const;
  Finding one_thread(int rank, const std::vector<NcclWaiter>& cycle) const;
  Finding host_cycle(const std::vector<NcclWaiter>& cycle) const;

  World& world_;
  const BlockedWorld& blocked_;
  VerdictCertainty& certainty_;
  FindingLog& findings_;
  NcclWaitChain chain_;
};

// -- Mismatched calls --

// The kernels of one collective, or the two ends of a message: `kernel` differs from another one.
std::vector<const NcclKernel*> partners_of(const NcclKernel& kernel,
                                           const std::vector<const NcclKernel*>& kernels) {
  std::vector<const NcclKernel*> partners = {&kernel, kernel.differs_from};
  if (!kernel.is_collective()) return partners;
  for (const NcclKernel* other : kernels)
    if (other->clique == kernel.clique && other->state == NcclKernel::State::running &&
        other->is_collective() && other->collective == kernel.collective &&
        std::ranges::find(partners, other) == partners.end())
      partners.push_back(other);
  std::ranges::sort(partners, {}, &NcclKernel::member);
  return partners;
}

bool Explanation::explain_mismatches() {
  std::set<const NcclClique*> seen;
  const std::vector<const NcclKernel*> kernels = chain_.kernels();
  for (const NcclKernel* kernel : kernels) {
    if (kernel->differs_from == nullptr || !seen.insert(kernel->clique.get()).second) continue;
    StuckGang gang(world_, *kernel->purpose.gang);
    std::vector<PendingOperation*> calls;
    for (const NcclKernel* partner : partners_of(*kernel, kernels))
      calls.push_back(gang.add(partner->member, partner->purpose.call));
    Finding finding = gang.mismatch_of(calls);
    add_detail(finding, "NCCL leaves this undefined; here, their kernels spin.");
    add(std::move(finding));
  }
  return !seen.empty();
}

// -- Missing ranks --

// Whether they are gone because of a failure: that they are waited for becomes a consequence of it.
bool Explanation::is_consequence(const std::vector<int>& gone, const NcclPurpose& purpose,
                                 const std::vector<int>& waiting) {
  const auto& failure = world_.rank(gone.front()).rare().last_failure;
  if (failure == nullptr || failure->finding == BreakCause::no_finding ||
      !std::ranges::all_of(gone, [this](int rank) { return world_.rank(rank).has_failed; }))
    return false;
  world_.findings.add_consequence(
      failure->finding,
      fmt::format("{} in {}", ranks_do(waiting, "waits", "wait"), call_text(purpose)));
  return true;
}

bool Explanation::explain_missing() {
  std::map<std::vector<int>, std::pair<const NcclPurpose*, std::vector<int>>> missing;
  const auto note = [&](const NcclPurpose* purpose, const std::vector<int>& awaited, int waiting) {
    std::vector<int> gone;
    for (const int rank : awaited)
      if (blocked_.is_gone(rank)) gone.push_back(rank);
    if (gone.empty() || purpose == nullptr) return;
    auto& [first, ranks] = missing[gone];
    if (first == nullptr) first = purpose;
    ranks.push_back(waiting);
  };
  for (const NcclKernel* kernel : chain_.kernels())
    if (kernel->state == NcclKernel::State::running)
      note(&kernel->purpose, chain_.hosts_of(ranks_awaited_by(*kernel)), kernel->gpu->rank());
  for (int rank = 0; rank < world_.options.world_size; ++rank)
    for (const NcclHostWait* wait : chain_.waits_of(rank))
      if (wait->kernels().empty()) note(wait->purpose, wait->awaited_ranks(), rank);
  for (auto& [gone, waiters] : missing) {
    const auto& [purpose, waiting] = waiters;
    if (is_consequence(gone, *purpose, sorted(waiting))) continue;
    Finding finding = finding_for(*purpose, finding_id::participant_missing);
    finding.ranks = gone;
    finding.message = fmt::format("{} never called {} on {}: its program has ended.",
                                  capitalised(ranks_text(gone)), to_string(purpose->call),
                                  to_string(finding.gang));
    finding.detail =
        fmt::format("{} for it.", capitalised(ranks_do(sorted(waiting), "waits", "wait")));
    add(std::move(finding));
  }
  return !missing.empty();
}

// -- Cycles --

// "0 → 1 → 0".
std::string path_of(const std::vector<NcclWaiter>& cycle) {
  std::vector<int> ranks;
  for (const NcclWaiter& one : cycle)
    if (ranks.empty() || ranks.back() != one.rank) ranks.push_back(one.rank);
  if (ranks.size() > 1 && ranks.front() == ranks.back()) ranks.pop_back();
  return fmt::format("{} → {}", fmt::join(ranks, " → "), ranks.front());
}

std::vector<int> ranks_of(const std::vector<NcclWaiter>& cycle) {
  std::vector<int> ranks;
  for (const NcclWaiter& one : cycle) ranks.push_back(one.rank);
  return sorted(std::move(ranks));
}

bool is_message(const NcclWaiter& one) {
  return one.kernel != nullptr && !one.kernel->is_collective();
}

bool Explanation::explain_cycle() {
  const std::vector<NcclWaiter> cycle = chain_.find_cycle();
  if (!cycle.empty()) add(cycle_finding(cycle));
  return !cycle.empty();
}

Finding Explanation::cycle_finding(const std::vector<NcclWaiter>& cycle) const {
  const auto hosts = std::ranges::count(cycle, nullptr, &NcclWaiter::kernel);
  for (const NcclWaiter& one : cycle) {
    if (one.kernel != nullptr) continue;
    if (hosts == 1 && chain_.devices_of(one.rank).size() > 1) return one_thread(one.rank, cycle);
    for (const NcclHostWait* wait : chain_.waits_of(one.rank)) {
      const bool blocks = wait->reason == NcclHostWait::Reason::launch;
      if ((wait->reason != NcclHostWait::Reason::idle && !blocks) || wait->kernels().empty())
        continue;
      const NcclKernel& kernel = *wait->kernels().front();
      Finding finding = blocks ? blocking_launch(kernel) : synchronization(*wait, kernel);
      finding.ranks = ranks_of(cycle);
      add_detail(finding, fmt::format("Each waits for the next: {}.", path_of(cycle)));
      return finding;
    }
  }
  const bool has_queued = std::ranges::any_of(cycle, [](const NcclWaiter& one) {
    return one.kernel != nullptr && one.kernel->state == NcclKernel::State::queued;
  });
  return has_queued ? inversion(cycle) : host_cycle(cycle);
}

// "rank 0 launched A before B": what its device runs first, or had to run first.
std::string order_text(const NcclKernel& ahead, const NcclKernel& behind) {
  if (ahead.serial < behind.serial)
    return fmt::format("rank {} launched {} before {}", ahead.gpu->rank(), call_text(ahead.purpose),
                       call_text(behind.purpose));
  return fmt::format("the device of rank {} started {} although {} was launched first",
                     ahead.gpu->rank(), call_text(ahead.purpose), call_text(behind.purpose));
}

// In the cycle, each queued kernel precedes the one that it is queued behind.
Finding Explanation::inversion(const std::vector<NcclWaiter>& cycle) const {
  std::vector<std::string> orders;
  std::set<std::string> gangs;
  std::vector<const NcclPurpose*> ahead_of_others;
  std::vector<OperationKind> kinds_ahead;
  const NcclPurpose* told = nullptr;
  bool is_by_device = false;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const NcclKernel* const behind = cycle[i].kernel;
    const NcclKernel* const ahead = cycle[(i + 1) % cycle.size()].kernel;
    if (behind == nullptr || ahead == nullptr || behind->state != NcclKernel::State::queued)
      continue;
    if (told == nullptr) told = &behind->purpose;
    ahead_of_others.push_back(&ahead->purpose);
    kinds_ahead.push_back(ahead->purpose.call.kind);
    gangs.insert(label_of(*ahead->purpose.gang));
    gangs.insert(label_of(*behind->purpose.gang));
    orders.push_back(order_text(*ahead, *behind));
    is_by_device = is_by_device || ahead->serial > behind->serial;
  }
  std::ranges::sort(orders);
  const bool are_messages = gangs.size() == 1 && std::ranges::all_of(cycle, is_message);
  if (are_messages) told = ahead_of_others[told_message(kinds_ahead)];
  Finding finding = finding_for(
      *told, are_messages ? finding_id::point_to_point_cycle : finding_id::stream_order_inversion);
  finding.ranks = ranks_of(cycle);
  const std::string who = fmt::format("{} {}",
                                      are_messages        ? "Messages of"
                                      : gangs.size() == 1 ? "Operations of"
                                                          : "Communicators",
                                      fmt::join(gangs, " and "));
  const std::string_view what = are_messages   ? "hold each other up"
                                : is_by_device ? "run in different orders"
                                               : "are launched in different orders";
  finding.message = fmt::format("{} {}: {}.", who, what, fmt::join(orders, "; "));
  finding.detail = fmt::format(
      "A kernel holds its place until its peers have started theirs. Each waits for the next: {}.",
      path_of(cycle));
  if (is_by_device)
    add_detail(finding,
               "Devices may start kernels of different streams in any order; with "
               "NCCL_LAUNCH_ORDER_IMPLICIT=1 (order=host), they keep the launch order.");
  if (gangs.size() > 1)
    finding.certainty = Certainty{.schedules = world_.engine.choices().schedules(),
                                  .resident_kernels = world_.options.nccl.resident};
  return finding;
}

Finding Explanation::synchronization(const NcclHostWait& wait, const NcclKernel& kernel) const {
  Finding finding = finding_for(kernel.purpose, finding_id::device_synchronization);
  const std::string caller =
      wait.purpose != nullptr ? fmt::format(" ({})", call_text(*wait.purpose)) : std::string();
  finding.message = fmt::format(
      "Rank {} is in {}{}, which waits until its device is idle, but its earlier launch of {} "
      "still spins there.",
      wait.gpu->rank(), wait.what, caller, call_text(kernel.purpose));
  return finding;
}

Finding Explanation::blocking_launch(const NcclKernel& kernel) const {
  Finding finding = finding_for(kernel.purpose, finding_id::blocking_launch);
  finding.message = fmt::format(
      "Rank {} is in the launch of {}, which returns once the kernel has run (launch=blocking, as "
      "with CUDA_LAUNCH_BLOCKING=1).",
      kernel.gpu->rank(), call_text(kernel.purpose));
  finding.detail = fmt::format(
      "It spins: a peer launches its side only after something that rank {} does later.",
      kernel.gpu->rank());
  return finding;
}

// The host waits for a call that it must make itself.
Finding Explanation::one_thread(int rank, const std::vector<NcclWaiter>& cycle) const {
  const std::vector<int> devices = chain_.devices_of(rank);
  const NcclPurpose* purpose = nullptr;
  for (const NcclHostWait* wait : chain_.waits_of(rank))
    if (purpose == nullptr) purpose = wait->purpose;
  for (const NcclWaiter& one : cycle)
    if (purpose == nullptr && one.kernel != nullptr) purpose = &one.kernel->purpose;
  Finding finding = purpose != nullptr
                        ? finding_for(*purpose, finding_id::one_thread_many_ranks)
                        : Finding{.id = std::string(finding_id::one_thread_many_ranks)};
  finding.ranks = devices;
  const std::string call = purpose != nullptr ? fmt::format("{} on {}", to_string(purpose->call),
                                                            label_of(*purpose->gang))
                                              : std::string("a call");
  finding.message = fmt::format(
      "One thread drives {}: it blocks in {} for one of them until the others make the same "
      "call, but this thread makes their calls only afterwards.",
      ranks_text(devices), call);
  finding.detail = "Outside a group, a thread blocks in the call of its first rank.";
  return finding;
}

// Hosts wait for each other, or for kernels that their peers have not launched.
Finding Explanation::host_cycle(const std::vector<NcclWaiter>& cycle) const {
  std::set<std::string> gangs;
  std::vector<OperationKind> kinds;
  std::vector<const NcclPurpose*> purposes;
  for (const NcclWaiter& one : cycle) {
    const NcclPurpose* purpose = one.kernel != nullptr ? &one.kernel->purpose : nullptr;
    if (one.kernel == nullptr)
      for (const NcclHostWait* wait : chain_.waits_of(one.rank))
        if (wait->purpose != nullptr) purpose = wait->purpose;
    if (purpose == nullptr) continue;
    purposes.push_back(purpose);
    kinds.push_back(purpose->call.kind);
    gangs.insert(label_of(*purpose->gang));
  }
  const bool are_messages = std::ranges::all_of(kinds, is_point_to_point);
  const std::string_view id = gangs.size() > 1 ? finding_id::cross_gang_cycle
                              : are_messages   ? finding_id::point_to_point_cycle
                                               : finding_id::deadlock;
  Finding finding{.id = std::string(id)};
  if (!purposes.empty())
    finding = finding_for(*purposes[are_messages ? told_message(kinds) : 0], id);
  finding.ranks = ranks_of(cycle);
  finding.message = fmt::format("{} call {} in different orders; each waits for the next: {}.",
                                capitalised(ranks_text(finding.ranks)), fmt::join(gangs, " and "),
                                path_of(cycle));
  if (are_messages) finding.message = message_cycle_text(kinds, path_of(cycle));
  return finding;
}

}  // namespace

bool explain_nccl_deadlock(SimulatedNccl& nccl, const BlockedWorld& blocked,
                           VerdictCertainty& certainty, FindingLog& findings) {
  return Explanation(nccl, blocked, certainty, findings).explain();
}

}  // namespace gang::sim
