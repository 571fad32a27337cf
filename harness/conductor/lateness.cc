#include "harness/conductor/lateness.h"

#include <algorithm>
#include <utility>

#include "gang/operation_kind.h"

namespace gang::harness {
namespace {

using Time = TimeOutside::Clock::time_point;

// Whether a root gives to all what the call moves, and not the other way round.
bool spreads(OperationKind kind) {
  return kind == OperationKind::broadcast || kind == OperationKind::broadcast_objects ||
         kind == OperationKind::scatter;
}

// Whether `self` waits only because a simulated collective is one for all.
bool needs_nobody(const StartedOperation& operation) {
  const OperationMessage& call = operation.message();
  return has_root(call.kind) && (call.peer == operation.gang().rank()) == spreads(call.kind);
}

void note(LongWaits& waits, const StartedOperation& operation, int self, Time begin, Time now,
          std::span<const std::unique_ptr<RankProcess>> processes) {
  const Duration timeout = operation.timeout();
  if (operation.error() || now - begin <= timeout) return;
  const OperationMessage& call = operation.message();
  const GangInfo& gang = operation.gang().info();
  std::pair<int, const TimeOutside*> late{};
  for (const int rank : awaited_ranks(call, gang, self)) {
    const TimeOutside* const absence =
        processes[static_cast<std::size_t>(rank)]->gangs.absence_before(gang, operation.number());
    if (absence != nullptr && (late.second == nullptr || absence->end > late.second->end))
      late = {rank, absence};
  }
  if (late.second == nullptr) return;
  waits.note(
      {.rank = self, .name = to_string(call.kind), .call_site = call.call_site, .timeout = timeout},
      begin, late.first, *late.second);
}

}  // namespace

std::vector<int> awaited_ranks(const OperationMessage& call, const GangInfo& gang, int self) {
  std::vector<int> awaited;
  if (is_point_to_point(call.kind)) return awaited;
  const int root = has_root(call.kind) ? gang.root_ranks[static_cast<std::size_t>(call.peer)] : -1;
  for (const int rank : gang.root_ranks) {
    if (rank == self && is_scan(call.kind)) break;
    if (rank == self) continue;
    if (!has_root(call.kind) || (spreads(call.kind) ? rank : self) == root) awaited.push_back(rank);
  }
  return awaited;
}

void note_lateness(LongWaits& waits, std::span<const std::shared_ptr<StartedOperation>> operations,
                   int self, Caller& caller,
                   std::span<const std::unique_ptr<RankProcess>> processes) {
  const Time now = TimeOutside::Clock::now();
  for (const auto& operation : operations)
    note(waits, *operation, self, caller.spoke_at - caller.ahead, now, processes);
  const bool needed_nobody = std::ranges::all_of(
      operations, [](const auto& operation) { return needs_nobody(*operation); });
  caller.ahead = needed_nobody ? caller.ahead + (now - caller.spoke_at) : Duration(0);
}

}  // namespace gang::harness
