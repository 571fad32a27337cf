#include "sim/matching/noted_steps.h"

#include <span>

#include "gang/hash.h"
#include "sim/engine/engine.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

enum class Part : std::uint8_t {
  seat,      // of a member: the order of its calls
  slot,      // the members' calls of one collective, by sequence number
  mailbox,   // of a member: the order of messages to it
  received,  // of a member: the receives that it has posted
  coming,    // of its members, to shrink it
  options,   // to shrink it: those of the first member count
  agreed,    // to shrink it
};

// `index`: below 2^56.
[[gnu::always_inline]] inline StepKey part_of(const GangState& gang, Part part,
                                              std::uint64_t index = 0) {
  return splitmix64(gang.key(), static_cast<std::uint64_t>(part) << 56 | index);
}

// Whether it is broken.
StepKey state_of(const GangState& gang) noexcept { return gang.key(); }

StepKey part_of_member(const GangState& gang, Part part, int member) {
  return part_of(gang, part, static_cast<std::uint64_t>(member));
}

// What a receive waits for.
StepKey awaited_by(const PendingOperation& receive) {
  const GangState& gang = *receive.gang;
  const StepKey mailbox = part_of_member(gang, Part::mailbox, receive.member);
  const int source = receive.call().peer;
  return source == any_rank ? coming_to(mailbox) : coming_from(gang.root_rank_of(source), mailbox);
}

// Tells what the call of `pending` does to `object`, and that it reads whether `gang` is broken; 0:
// it does not.
void tell(Guide& guide, const PendingOperation& pending, AccessKind kind, AccessMode mode,
          StepKey object, StepKey gang = 0) {
  guide.access({.kind = kind,
                .mode = mode,
                .tag = pending.call().tag,
                .rank = pending.task->rank->rank,
                .object = object,
                .gang = gang,
                .operation = pending.step_key,
                .site = pending.call().call_site});
}

// What has to happen elsewhere for the operation to end.
void look_at(Guide& guide, const PendingOperation& pending) {
  const GangState& gang = *pending.gang;
  const Collective& call = pending.call();
  const auto look = [&](StepKey object) {
    tell(guide, pending, AccessKind::look, AccessMode::look, object);
  };
  switch (call.kind) {
    case OperationKind::send:
      if (gang.world->options.sends.buffered_bytes) return;  // it has ended
      return look(part_of_member(gang, Part::received, call.peer));
    case OperationKind::recv:
      return look(awaited_by(pending));
    case OperationKind::batch:
      if (pending.entries())
        for (const PendingOperation& entry : pending.entries()->pendings) look_at(guide, entry);
      return;
    default:
      return look(part_of(gang, Part::slot, call.sequence_number));
  }
}

// Whether the current context waits for it, and for nothing else, so that it need not be told.
bool is_of_current_step(const PendingOperation& pending) {
  return pending.form == CallForm::blocking && pending.batch == nullptr &&
         pending.task == &pending.gang->world->engine.current();
}

std::uint64_t digest_of(const ShrinkOptions& options) {
  const auto ticks = [](Duration duration) { return static_cast<std::uint64_t>(duration.count()); };
  const std::uint64_t name = fnv1a(std::as_bytes(std::span(options.name)));
  const std::uint64_t timeout = ticks(options.timeout.value_or(Duration(-1)));
  return splitmix64(splitmix64(name, timeout), ticks(options.grace.value_or(Duration(-1))));
}

// Calls of one rank on one gang are counted in their order.
void note_seat(Guide& guide, const GangState& gang, int member, const Task& task,
               const Collective& call, StepKey operation) {
  const StepKey seat = part_of_member(gang, Part::seat, member);
  guide.access({.kind = AccessKind::call,
                .mode = AccessMode::write,
                .tag = call.tag,
                .rank = task.rank->rank,
                .object = seat,
                .operation = operation,
                .site = call.call_site});
}

void note_seat(Guide& guide, const PendingOperation& pending) {
  note_seat(guide, *pending.gang, pending.member, *pending.task, pending.call(), pending.step_key);
}

}  // namespace

void note_post(Guide& guide, PendingOperation& pending) {
  const GangState& gang = *pending.gang;
  const OperationKind kind = pending.call().kind;
  pending.step_key = guide.new_object();
  if (gang.broken || kind == OperationKind::batch)
    tell(guide, pending, AccessKind::call, AccessMode::read, state_of(gang));
  if (gang.broken) return;
  if (pending.task->rank->has_threads) {
    note_seat(guide, pending);
    // Under faults, a call may end before another context of the rank calls, or after.
    if (StepLog* notes = guide.notes(); notes != nullptr && gang.world->interference != nullptr)
      notes->is_incomplete = true;
  }
  if (is_point_to_point(kind)) return;
  const StepKey slot = part_of(gang, Part::slot, pending.call().sequence_number);
  tell(guide, pending, AccessKind::arrival, AccessMode::arrive, slot, state_of(gang));
  guide.publish(slot);
}

void note_foreign_call(Guide& guide, const GangState& gang, int member, const Task& task,
                       const Collective& call) {
  if (!task.rank->has_threads) return;
  note_seat(guide, gang, member, task, call, StepKey{0});
  StepLog* notes = guide.notes();
  if (notes == nullptr) return;
  const auto [first, is_first] =
      notes->seats.emplace(part_of_member(gang, Part::seat, member), task.id);
  if (first->second != task.id) notes->is_incomplete = true;
}

void note_return(Guide& guide, const PendingOperation& pending) {
  if (pending.task->rank->has_threads) note_seat(guide, pending);
}

void note_post_of_entry(Guide& guide, PendingOperation& entry) {
  entry.step_key = guide.new_object();
}

void note_ended(Guide& guide, const PendingOperation& pending) {
  if (!is_of_current_step(pending)) guide.publish(pending.step_key);
}

void note_look(Guide& guide, const PendingOperation& pending) {
  tell(guide, pending, AccessKind::look, AccessMode::read, state_of(*pending.gang));
  look_at(guide, pending);
  if (pending.has_ended()) note_taken(guide, pending);
}

void note_left(Guide& guide, const PendingOperation& pending) { guide.publish(pending.step_key); }

void note_taken(Guide& guide, const PendingOperation& pending) {
  guide.join(pending.step_key);
  note_taken_at_once(guide, pending);
}

void note_taken_at_once(Guide& guide, const PendingOperation& pending) {
  if (!is_point_to_point(pending.call().kind))
    guide.join(part_of(*pending.gang, Part::slot, pending.call().sequence_number));
  if (pending.entries())
    for (const PendingOperation& entry : pending.entries()->pendings) note_taken(guide, entry);
}

void note_broken(Guide& guide, const World& world, const GangState& gang) {
  const Task& task = world.engine.current();
  guide.access({.kind = AccessKind::call,
                .mode = gang.broken ? AccessMode::read : AccessMode::write,
                .rank = task.rank == nullptr ? -1 : task.rank->rank,
                .object = state_of(gang)});
}

void note_sent(Guide& guide, const PendingOperation& send) {
  const GangState& gang = *send.gang;
  tell(guide, send, AccessKind::message, AccessMode::write,
       part_of_member(gang, Part::mailbox, send.call().peer), state_of(gang));
}

void note_receive(Guide& guide, const PendingOperation& receive) {
  const GangState& gang = *receive.gang;
  tell(guide, receive, AccessKind::arrival, AccessMode::arrive,
       part_of_member(gang, Part::received, receive.member), state_of(gang));
  StepLog* const notes = guide.notes();
  if (notes == nullptr || receive.call().peer != any_rank) return;
  const AnyReceive asked{part_of_member(gang, Part::mailbox, receive.member), receive.call().tag};
  if (!notes->knowledge.any_receives.contains(asked)) notes->knowledge.any_receives.insert(asked);
}

void note_meeting(Guide& guide, StepKey waiting, const PendingOperation& posted) {
  if (is_of_current_step(posted))
    guide.join(waiting);
  else
    guide.carry(waiting, posted.step_key);
}

void note_taken_by_any(Guide& guide, const PendingOperation& receive, StepKey message) {
  if (StepLog* notes = guide.notes())
    notes->taken.push_back({message, receive.task->rank->rank, receive.call().call_site});
}

// What two members do to an object for each bit of a digest of their options commutes if all are
// equal.
void note_coming(Guide& guide, const GangState& gang, const Task& task,
                 const ShrinkOptions& options, const CallSite& call_site) {
  const std::uint64_t digest = digest_of(options);
  for (unsigned bit = 0; bit < 32; ++bit)
    guide.access({.kind = AccessKind::arrival,
                  .mode = (digest >> bit & 1) != 0 ? AccessMode::look : AccessMode::arrive,
                  .rank = task.rank->rank,
                  .object = part_of(gang, Part::options, bit),
                  .site = call_site});
  guide.publish(part_of(gang, Part::coming));
}

void note_agreement(Guide& guide, const GangState& gang, const std::vector<int>& absent) {
  guide.join(part_of(gang, Part::coming));
  for (const int rank : absent) guide.join(guide.end_of(static_cast<TaskId>(rank)));
  guide.publish(part_of(gang, Part::agreed));
}

void note_agreed(Guide& guide, const GangState& gang) { guide.join(part_of(gang, Part::agreed)); }

}  // namespace gang::sim
