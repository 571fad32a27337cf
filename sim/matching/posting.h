// How an operation reaches its gang: the way of every call.
//
// Inline in blocking calls, most of whose checks are then decided where they are compiled.
#pragma once

#include <algorithm>

#include "sim/matching/buffer_guard.h"
#include "sim/matching/matching.h"
#include "sim/matching/noted_steps.h"
#include "sim/matching/streams.h"
#include "sim/recording/trace_recorder.h"
#include "sim/report/report.h"

namespace gang::sim {

// Whether the result of a kind, where it is small, is kept beside the slot.
inline bool has_one_result(OperationKind kind) noexcept {
  constexpr std::uint32_t kinds = 1U << static_cast<unsigned>(OperationKind::all_reduce) |
                                  1U << static_cast<unsigned>(OperationKind::reduce) |
                                  1U << static_cast<unsigned>(OperationKind::broadcast) |
                                  1U << static_cast<unsigned>(OperationKind::barrier);
  return (kinds >> static_cast<unsigned>(kind) & 1) != 0;
}

// Operations with one result for all ranks that get any, which fits beside the slot. `bytes`: of
// what a member brings.
inline bool is_inline_kind(OperationKind kind, std::size_t bytes) noexcept {
  return has_one_result(kind) && bytes <= inline_bytes;
}

// How much of what each member brings is kept beside the slot.
inline std::uint8_t value_bytes_of(const Collective& call) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(call.count) * size_bytes(call.data_type);
  return is_inline_kind(call.kind, bytes) ? static_cast<std::uint8_t>(bytes) : std::uint8_t{0};
}

// Copies what a member brings. Its memory is guarded if it was queued on a stream.
[[gnu::always_inline]] inline void keep_value(InlineValue& value, const std::byte* input,
                                              std::size_t bytes, BufferGuard* guard) noexcept {
  if (guard != nullptr) [[unlikely]]
    guard->open();
  copy_few(value.data(), input, bytes);
  if (guard != nullptr) [[unlikely]]
    guard->close();
}

template <bool is_plain>
inline bool Matching::arrive(PendingOperation& pending) {
  if (is_point_to_point(pending.call().kind)) [[unlikely]] {
    messages_.post(pending);
    return has_ended(pending);
  }
  GangState& gang = *pending.gang;
  const Operation& operation = *pending.operation;
  const std::byte* const input = operation.input.data();
  BufferGuard* const guard = pending.guard;
  const bool is_started = pending.form != CallForm::blocking;
  const Collective& call = operation.collective;
  MatchSlot& slot = gang.slot_for(call.sequence_number);
  const auto member = static_cast<std::size_t>(pending.member);
  if (slot.arrived == 0) {
    slot.first = Fingerprint(call, rules_);
    slot.first_site = call.call_site;
    slot.value_bytes = value_bytes_of(call);
  } else {
    if (!slot.first.matches(Fingerprint(call, rules_))) [[unlikely]] {
      slot.is_mismatched = true;
      slot.value_bytes = 0;
    }
    if (!is_same_object(call.call_site, slot.first_site)) [[unlikely]]
      slot.has_other_places = true;
  }
  pending.slot = &slot;
  slot.members[member] = &pending;
  Seat& seat = slot.seats[member];
  seat.waiter = pending.waiter;
  if (is_started) ++slot.async_members;
  if (slot.value_bytes != 0 && input != nullptr)
    keep_value(seat.value, input, slot.value_bytes, guard);
  ++slot.arrived;
  if (!slot.is_full() || (!is_plain && is_held(gang, slot))) return false;
  complete(gang, slot);
  return has_ended(pending);
}

template <bool is_plain>
inline bool Matching::post_inline(PendingOperation& pending) {
  if (!is_plain) engine_.check_running();
  const TimePoint now = engine_.now<is_plain>();
  pending.posted_at = now;
  if (!is_plain && guide_ != nullptr) [[unlikely]]
    note_post(*guide_, pending);
  if (pending.gang->broken) [[unlikely]] {
    pending.status = PendingStatus::failed;
    throw_failure(pending);
  }
  // Those of monitored barriers are firm.
  if (!is_plain && pending.call().kind == OperationKind::monitored_barrier) {
    pending.deadline = deadline_after(now, pending.operation->timeout);
  } else {
    pending.deadline = deadline_after(now, std::min(pending.operation->timeout, patience_));
    engine_.clock().note_deadline(pending.deadline);
  }
  ++counts_.rank_operations;
  engine_.note_progress();
  if (is_plain)
    recorder_.called(*pending.task, *pending.gang, pending.call(), now);
  else
    recorder_.posted(pending, now);
  if (!is_plain && is_stream_ordered_ && !launch(pending)) [[unlikely]]
    return false;
  return arrive<is_plain>(pending);
}

}  // namespace gang::sim
