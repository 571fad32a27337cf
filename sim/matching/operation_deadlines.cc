#include "sim/matching/operation_deadlines.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/matching/diagnosis.h"
#include "sim/matching/matching.h"
#include "sim/matching/shrinking.h"
#include "sim/matching/sim_gang.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// Calls `visit` with every operation that waits in `gang`, except monitored barriers, whose
// deadlines are firm.
template <typename Visit>
void for_each_timed(GangState& gang, const Visit& visit) {
  for (const MatchSlot* slot : gang.active)
    for (PendingOperation* member : slot->members)
      if (member != nullptr && member->call().kind != OperationKind::monitored_barrier)
        visit(*member);
  for (const Mailbox& mailbox : gang.mailboxes) {
    for (PendingOperation* send : mailbox.sends) visit(*send);
    for (PendingOperation* receive : mailbox.receives) visit(*receive);
    for (const HeldSend& held : mailbox.held) visit(*held.send);
  }
}

template <typename Visit>
void for_each_launched(const RankState& rank, const Visit& visit) {
  if (!rank.rare().stream) return;
  for (PendingOperation* pending : *rank.rare().stream)
    if (pending->status == PendingStatus::launched) visit(*pending);
}

// Whether a context waits for it.
bool waits(const PendingOperation& barrier) {
  return !Matching::has_ended(barrier) && !barrier.task->is_frozen;
}

}  // namespace

OperationDeadlines::OperationDeadlines(World& world, Matching& matching) noexcept
    : world_(world), matching_(matching) {}

TimePoint OperationDeadlines::earliest() const {
  TimePoint earliest = TimePoint::max();
  const auto look = [&earliest](const PendingOperation& pending) {
    earliest = std::min(earliest, pending.deadline);
  };
  for (GangState* gang : matching_.all_gangs()) for_each_timed(*gang, look);
  for (const RankState& rank : world_.ranks) for_each_launched(rank, look);
  return earliest;
}

void OperationDeadlines::time_out_operations() {
  const TimePoint now = world_.engine.now();
  for (GangState* gang : matching_.gangs()) {
    PendingOperation* late = nullptr;
    std::vector<RankState*> ranks;  // with late operations
    const auto look = [&late, &ranks, now](PendingOperation& pending) {
      if (pending.deadline > now) return;
      if (late == nullptr) late = &pending;
      ranks.push_back(pending.task->rank);
    };
    for_each_timed(*gang, look);
    if (world_.options.execution == ExecutionModel::stream_ordered)
      for (const int rank : gang->info->root_ranks)
        for_each_launched(world_.rank(rank), [&look, gang](PendingOperation& pending) {
          if (pending.gang == gang) look(pending);
        });
    if (late == nullptr) continue;
    time_out(*gang, *late);
    if (world_.options.watchdog)
      for (RankState* rank : ranks) abort_gangs_of(*rank, *gang);
  }
}

// Acts as the watchdog of a rank after one of its operations has timed out.
void OperationDeadlines::abort_gangs_of(RankState& rank, const GangState& broken) {
  for (const auto& gang : gangs_held_by(rank)) {
    if (gang->broken) continue;
    auto cause = std::make_shared<BreakCause>();
    cause->kind = GangErrorKind::aborted;
    cause->reason = fmt::format("the watchdog of rank {} aborted it, since {} broke: {}", rank.rank,
                                broken.label(), broken.broken->reason);
    cause->finding_if_fatal = broken.broken->finding_if_fatal;
    cause->finding = broken.broken->finding;
    matching_.break_gang(*gang, std::move(cause));
  }
}

void OperationDeadlines::time_out(GangState& gang, PendingOperation& pending) {
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::timeout;
  if (pending.slot != nullptr)
    cause->ranks_at_fault = missing_members(*pending.slot);
  else if (pending.call().peer >= 0)
    cause->ranks_at_fault = {pending.call().peer};
  world_.diagnosis.timed_out(pending, *cause);
  cause->reason = fmt::format("{} did not come", members_text(gang, cause->ranks_at_fault));
  matching_.break_gang(gang, cause);
}

TimePoint OperationDeadlines::earliest_firm() const {
  TimePoint earliest = TimePoint::max();
  for (const PendingOperation* barrier : monitored_)
    if (waits(*barrier)) earliest = std::min(earliest, barrier->deadline);
  for (const GangState* gang : matching_.shrinking())
    earliest = std::min(earliest, end_of_grace(*gang));
  return earliest;
}

void OperationDeadlines::end_firm() {
  const TimePoint now = world_.engine.now();
  for (const PendingOperation* barrier : monitored_)
    if (waits(*barrier) && barrier->deadline <= now) fail_monitored_barrier(*barrier);
  for (GangState* gang : std::vector(matching_.shrinking()))
    if (end_of_grace(*gang) <= now) shrink_to_those_present(world_, *gang);
}

OperationDeadlines::MonitoredWait::MonitoredWait(OperationDeadlines& deadlines,
                                                 PendingOperation& pending)
    : deadlines_(deadlines), pending_(pending) {
  deadlines_.monitored_.push_back(&pending_);
}

OperationDeadlines::MonitoredWait::~MonitoredWait() {
  std::erase(deadlines_.monitored_, &pending_);
}

void OperationDeadlines::fail_monitored_barrier(const PendingOperation& pending) {
  GangState& gang = *pending.gang;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::timeout;
  if (const MatchSlot* slot = slot_of(gang, pending))
    cause->ranks_at_fault = missing_members(*slot);
  world_.diagnosis.timed_out(pending, *cause);
  if (!pending.operation->extras->wait_all_ranks && !cause->ranks_at_fault.empty())
    cause->ranks_at_fault.resize(1);
  cause->reason = fmt::format("{} did not come", members_text(gang, cause->ranks_at_fault));
  matching_.break_gang(gang, std::move(cause));
}

}  // namespace gang::sim
