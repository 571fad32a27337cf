#include "harness/conductor/lateness.h"

#include <utility>

#include "gang/operation_kind.h"

namespace gang::harness {

std::vector<int> awaited_ranks(const OperationMessage& call, const GangInfo& gang, int self) {
  std::vector<int> awaited;
  if (is_point_to_point(call.kind)) return awaited;
  const bool spreads = call.kind == OperationKind::broadcast ||
                       call.kind == OperationKind::broadcast_objects ||
                       call.kind == OperationKind::scatter;
  const int root = has_root(call.kind) ? gang.root_ranks[static_cast<std::size_t>(call.peer)] : -1;
  for (const int rank : gang.root_ranks) {
    if (rank == self && is_scan(call.kind)) break;
    if (rank == self) continue;
    if (!has_root(call.kind) || (spreads ? rank : self) == root) awaited.push_back(rank);
  }
  return awaited;
}

void note_lateness(LongWaits& waits, const StartedOperation& operation, int self,
                   TimeOutside::Clock::time_point begin,
                   std::span<const std::unique_ptr<RankProcess>> processes) {
  const Duration timeout = operation.timeout();
  if (operation.error() || TimeOutside::Clock::now() - begin <= timeout) return;
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

}  // namespace gang::harness
