// The part of Matching that lets operations time out.
#include <algorithm>

#include <fmt/format.h>

#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/verdict/failure.h"

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

// How long the operation may wait: its own timeout, or its rank's watchdog.
Duration Matching::patience_with(const PendingOperation& pending) const noexcept {
  const Duration timeout = pending.operation->timeout;
  const auto& watchdog = engine_.options().watchdog;
  if (!watchdog || pending.call().kind == OperationKind::monitored_barrier) return timeout;
  return std::min(timeout, *watchdog);
}

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
    std::vector<RankState*> ranks;  // whose operations are late
    const auto look = [&late, &ranks, now](PendingOperation& pending) {
      if (pending.deadline > now) return;
      if (late == nullptr) late = &pending;
      ranks.push_back(pending.task->rank);
    };
    for_each_timed(*gang, look);
    if (engine_.options().execution == ExecutionModel::stream_ordered)
      for (const int rank : gang->info->root_ranks)
        for_each_launched(engine_.rank_state(rank), [&look, gang](PendingOperation& pending) {
          if (pending.gang == gang) look(pending);
        });
    if (late == nullptr) continue;
    time_out(*gang, *late);
    if (engine_.options().watchdog)
      for (RankState* rank : ranks) abort_gangs_of(*rank, *gang);
  }
}

// What a watchdog does once an operation of its rank has timed out.
void Matching::abort_gangs_of(RankState& rank, const GangState& broken) {
  for (const auto& gang : gangs_held_by(rank)) {
    if (gang->broken) continue;
    auto cause = std::make_shared<BreakCause>();
    cause->kind = GangErrorKind::aborted;
    cause->reason = fmt::format("the watchdog of rank {} aborted it, since {} broke: {}", rank.rank,
                                broken.label(), broken.broken->reason);
    cause->potential = broken.broken->potential;
    cause->finding = broken.broken->finding;
    break_gang(*gang, std::move(cause));
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
