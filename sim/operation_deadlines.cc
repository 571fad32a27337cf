// The part of Matching that lets operations time out.
#include <algorithm>

#include <fmt/format.h>

#include "sim/failure.h"
#include "sim/matching.h"

namespace gang::sim {
namespace {

// Calls `visit` with every operation that waits in `gang`, but monitored barriers, which time
// themselves.
template <typename Visit>
void for_each_timed(GangState& gang, const Visit& visit) {
  for (const MatchSlot* slot : gang.active)
    for (PendingOperation* member : slot->members)
      if (member != nullptr && member->call().kind != OperationKind::monitored_barrier)
        visit(*member);
  if (!gang.mailboxes) return;
  for (const Mailbox& mailbox : *gang.mailboxes) {
    for (PendingOperation* send : mailbox.sends) visit(*send);
    for (PendingOperation* receive : mailbox.receives) visit(*receive);
    for (const HeldSend& held : mailbox.held) visit(*held.send);
  }
}

template <typename Visit>
void for_each_launched(const RankState& rank, const Visit& visit) {
  if (!rank.stream) return;
  for (PendingOperation* pending : *rank.stream)
    if (pending->status == PendingStatus::launched) visit(*pending);
}

}  // namespace

TimePoint Matching::earliest_deadline() const {
  TimePoint earliest = TimePoint::max();
  const auto look = [&earliest](const PendingOperation& pending) {
    earliest = std::min(earliest, pending.deadline);
  };
  for (GangState* gang : gangs_) for_each_timed(*gang, look);
  for (const RankState& rank : engine_.ranks()) for_each_launched(rank, look);
  return earliest;
}

void Matching::time_out_operations() {
  const TimePoint now = engine_.now();
  for (GangState* gang : gangs()) {
    PendingOperation* late = nullptr;
    const auto look = [&late, now](PendingOperation& pending) {
      if (late == nullptr && pending.deadline <= now) late = &pending;
    };
    for_each_timed(*gang, look);
    if (engine_.options().execution == ExecutionModel::stream_ordered)
      for (const int rank : gang->info->root_ranks)
        for_each_launched(engine_.rank_state(rank), [&look, gang](PendingOperation& pending) {
          if (pending.gang == gang) look(pending);
        });
    if (late != nullptr) time_out(*gang, *late);
  }
}

void Matching::time_out(GangState& gang, PendingOperation& pending) {
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::timeout;
  if (pending.slot != nullptr)
    cause->ranks_at_fault = missing_members(*pending.slot);
  else if (pending.call().peer >= 0)
    cause->ranks_at_fault = {pending.call().peer};
  set_timeout(engine_, pending, *cause);
  cause->reason = fmt::format("{} did not come", describe_members(gang, cause->ranks_at_fault));
  break_gang(gang, cause);
}

}  // namespace gang::sim
