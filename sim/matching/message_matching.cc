#include "sim/matching/message_matching.h"

#include <algorithm>
#include <cstring>

#include "sim/matching/buffer_guard.h"
#include "sim/matching/interference.h"
#include "sim/matching/matching.h"
#include "sim/matching/noted_steps.h"
#include "sim/matching/sole_senders.h"
#include "sim/recording/trace_recorder.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

bool accepts(const Collective& receive, int source, int tag) noexcept {
  return (receive.peer == any_rank || receive.peer == source) &&
         (receive.tag == any_tag || receive.tag == tag);
}

bool have_one_type(const Collective& a, DataType type, std::int64_t count) noexcept {
  return a.data_type == type && a.count == count;
}

// The guard of a send's or receive's memory: its own, or that of its batch.
BufferGuard* guard_of(const PendingOperation& pending) noexcept {
  return pending.batch != nullptr ? pending.batch->guard : pending.guard;
}

inline void check(World& world, BufferGuard* guard) {
  if (guard != nullptr) guard->check(world);
}

inline void seal(BufferGuard* guard) {
  if (guard != nullptr) guard->seal();
}

inline void copy_payload(std::byte* output, const std::byte* input, std::size_t bytes) noexcept {
  if (bytes != 0) copy_few(output, input, bytes);
}

// The oldest entry that `receive` can take.
template <typename T, typename Accepts>
auto find_for(const PendingOperation& receive, const LinkQueue<T>& queue, const Accepts& accepts) {
  const int source = receive.call().peer;
  return source == any_rank ? queue.find(accepts) : queue.find_from(source, accepts);
}

bool is_from_any(const PendingOperation& receive) noexcept {
  return receive.call().peer == any_rank;
}

}  // namespace

MessageMatching::MessageMatching(World& world, Matching& matching)
    : world_(world), engine_(world.engine), matching_(matching) {}

inline Mailbox& MessageMatching::mailbox_of(GangState& gang, int member) {
  if (gang.mailboxes.empty()) gang.mailboxes.resize(static_cast<std::size_t>(gang.size()));
  return gang.mailboxes[static_cast<std::size_t>(member)];
}

inline bool MessageMatching::are_buffered() const noexcept {
  return world_.options.sends.buffered_bytes.has_value();
}

inline void MessageMatching::corrupt_payload(const PendingOperation& send, std::byte* payload) {
  if (send.faults().corruptor != nullptr) [[unlikely]]
    corrupt(send, payload);
}

void MessageMatching::post(PendingOperation& pending) {
  switch (pending.call().kind) {
    case OperationKind::send:
      return post_send(pending, false);
    case OperationKind::recv:
      return post_receive(pending);
    default:
      return post_batch(pending);
  }
}

void MessageMatching::post_batch(PendingOperation& batch) {
  if (!batch.entries()) expand_batch(batch);
  auto& entries = batch.entries()->pendings;
  batch.entries()->left = static_cast<std::uint32_t>(entries.size());
  if (entries.empty()) return matching_.end(batch, PendingStatus::complete);
  for (PendingOperation& entry : entries) {
    if (batch.has_ended()) return;  // an entry has broken the gang
    if (Guide* guide = engine_.choices().guide()) note_post_of_entry(*guide, entry);
    entry.posted_at = batch.posted_at;
    entry.deadline = batch.deadline;
    post(entry);
  }
}

// `receive`, which is from any source, takes a message of `source` that is no longer in `mailbox`.
void MessageMatching::note_choice(Mailbox& mailbox, const PendingOperation& receive, int source) {
  if (engine_.choices().is_decided()) return;
  if (could_take_another(*receive.gang, mailbox, receive, source))
    engine_.choices().note_guided_choice();
}

bool MessageMatching::meets_fault(Mailbox& mailbox, PendingOperation& send) {
  const LinkFate fate = world_.interference->links().fate_of(send);
  TimePoint until = std::max(fate.until, send.faults().read_at);
  bool is_held = fate.kind == LinkFate::Kind::is_held || send.faults().read_at > engine_.now();
  // A message does not overtake an earlier one of its link.
  for (const HeldSend& held : mailbox.held) {
    if (held.send->member != send.member) continue;
    is_held = true;
    until = std::max(until, held.until);
  }
  if (fate.kind == LinkFate::Kind::is_lost) {
    matching_.end(send, PendingStatus::complete);
    return true;
  }
  if (fate.kind == LinkFate::Kind::passes && fate.fault != send.faults().corruptor)
    send.make_extras().faults.corruptor = fate.fault;
  if (is_held) {
    if (Guide* guide = engine_.choices().guide()) note_left(*guide, send);
    mailbox.held.push_back({&send, until});
  }
  return is_held;
}

void MessageMatching::release_held(GangState& gang) {
  for (Mailbox& mailbox : gang.mailboxes) {
    std::vector<HeldSend> due;
    std::erase_if(mailbox.held, [&due, now = engine_.now()](const HeldSend& held) {
      if (held.until > now) return false;
      due.push_back(held);
      return true;
    });
    for (const HeldSend& held : due)
      if (!gang.broken) post_send(*held.send, true);
  }
}

void MessageMatching::post_send(PendingOperation& send, bool was_held) {
  Mailbox& mailbox = mailbox_of(*send.gang, send.call().peer);
  if (!was_held) {
    if (send.call().peer == send.member)
      engine_.choices().note_guided_choice();  // a further source
    if (Guide* guide = engine_.choices().guide()) note_sent(*guide, send);
    if (world_.interference != nullptr && meets_fault(mailbox, send)) return;
  }
  if (are_buffered()) count_sent(mailbox, send);
  if (!mailbox.sole_senders.empty() && !engine_.choices().is_decided() &&
      could_have_come_first(*send.gang, mailbox, send)) [[unlikely]]
    engine_.choices().note_guided_choice();
  const auto takes = [&send](const PendingOperation* receive) {
    return accepts(receive->call(), send.member, send.call().tag);
  };
  if (const auto receive = mailbox.receives.find_from(send.member, any_rank, takes)) {
    PendingOperation& waiting = *mailbox.receives.take(*receive);
    // A buffered send would have gone on without it.
    if (Guide* guide = engine_.choices().guide(); guide != nullptr && !are_buffered())
      note_meeting(*guide, waiting.step_key, send);
    return meet(mailbox, send, waiting);
  }
  if (Guide* guide = engine_.choices().guide()) note_left(*guide, send);
  // A message may not overtake an earlier one of its link that did not fit.
  if (are_buffered() && fits(mailbox, send) && !first_waiting(mailbox, send.member))
    buffer(mailbox, send);
  else
    mailbox.sends.push(send.member, &send);
}

LinkBytes& MessageMatching::link_of(Mailbox& mailbox, int source) {
  if (mailbox.buffered == nullptr) mailbox.buffered = std::make_unique<BufferedMessages>();
  return mailbox.buffered->links[source];
}

void MessageMatching::count_sent(Mailbox& mailbox, const PendingOperation& send) {
  LinkBytes& link = link_of(mailbox, send.member);
  link.sent += send.operation->input.size_bytes();
  if (link.sent > *world_.options.sends.buffered_bytes) depends_on_buffers_ = true;
}

bool MessageMatching::fits(Mailbox& mailbox, const PendingOperation& send) {
  const std::uint64_t in_transit = link_of(mailbox, send.member).in_transit;
  return in_transit + send.operation->input.size_bytes() <= *world_.options.sends.buffered_bytes;
}

std::optional<WaitingSends::Place> MessageMatching::first_waiting(const Mailbox& mailbox,
                                                                  int source) {
  return mailbox.sends.find_from(source, [](const PendingOperation*) { return true; });
}

void MessageMatching::buffer_waiting(Mailbox& mailbox, int source) {
  for (;;) {
    const auto send = first_waiting(mailbox, source);
    if (!send || !fits(mailbox, *mailbox.sends[*send])) return;
    buffer(mailbox, *mailbox.sends.take(*send));
  }
}

void MessageMatching::corrupt(const PendingOperation& send, std::byte* payload) {
  const Elements& sent = send.operation->input;
  if (sent.count() == 0) return;
  world_.interference->links().corrupt_message(Elements(payload, sent.type(), sent.count()),
                                               *send.faults().corruptor);
}

void MessageMatching::buffer(Mailbox& mailbox, PendingOperation& send) {
  const Elements& tensor = send.operation->input;
  link_of(mailbox, send.member).in_transit += tensor.size_bytes();
  check(world_, guard_of(send));
  Message message;
  message.source = send.member;
  message.tag = send.call().tag;
  message.data_type = send.call().data_type;
  message.count = send.call().count;
  message.payload.resize(tensor.size_bytes());
  copy_payload(message.payload.data(), tensor.data(), tensor.size_bytes());
  corrupt_payload(send, message.payload.data());
  message.sent = send.call();
  message.sent.label = {};
  message.step_key = send.step_key;
  mailbox.buffered->queue.push(send.member, std::move(message));
  matching_.end(send, PendingStatus::complete);
}

bool MessageMatching::receive_buffered(Mailbox& mailbox, PendingOperation& receive) {
  LinkQueue<Message>& queue = mailbox.buffered->queue;
  const auto found = find_for(receive, queue, [&receive](const Message& message) {
    return accepts(receive.call(), message.source, message.tag);
  });
  if (!found) return false;
  const Message message = queue.take(*found);
  link_of(mailbox, message.source).in_transit -= message.payload.size();
  if (is_from_any(receive)) note_choice(mailbox, receive, message.source);
  if (Guide* guide = engine_.choices().guide()) {
    note_meeting(*guide, message.step_key, receive);
    if (is_from_any(receive)) note_taken_by_any(*guide, receive, message.step_key);
  }
  if (!have_one_type(receive.call(), message.data_type, message.count)) {
    depends_on_buffers_ = true;
    Operation sent;
    sent.collective = message.sent;
    PendingOperation send(sent, *receive.gang, message.source, *receive.task);
    send.status = PendingStatus::complete;
    PendingOperation* const pair[] = {&send, &receive};
    matching_.fail_mismatch(*receive.gang, pair);
    return true;
  }
  BufferGuard* const guard = guard_of(receive);
  check(world_, guard);
  copy_payload(receive.operation->output.data(), message.payload.data(), message.payload.size());
  seal(guard);
  receive.received = {message.source, message.tag};
  if (is_from_any(receive)) mailbox.taken.count(message.source, message.sent);
  ++world_.counts.completed_operations;
  matching_.end(receive, PendingStatus::complete);
  if (are_buffered()) buffer_waiting(mailbox, message.source);
  return true;
}

void MessageMatching::post_receive(PendingOperation& receive) {
  if (Guide* guide = engine_.choices().guide()) note_receive(*guide, receive);
  // From one source messages come in one order, whatever the schedule.
  if (receive.call().peer == any_rank && receive.gang->size() > 2)
    engine_.choices().note_open_choice();
  Mailbox& mailbox = mailbox_of(*receive.gang, receive.member);
  if (mailbox.buffered != nullptr && receive_buffered(mailbox, receive)) return;
  const auto send = find_for(receive, mailbox.sends, [&receive](const PendingOperation* candidate) {
    return accepts(receive.call(), candidate->member, candidate->call().tag);
  });
  if (!send) {
    if (Guide* guide = engine_.choices().guide()) note_left(*guide, receive);
    return mailbox.receives.push(receive.call().peer, &receive);
  }
  PendingOperation& waiting = *mailbox.sends.take(*send);
  const int source = waiting.member;
  if (Guide* guide = engine_.choices().guide()) note_meeting(*guide, waiting.step_key, receive);
  meet(mailbox, waiting, receive);
  if (are_buffered()) buffer_waiting(mailbox, source);
}

void MessageMatching::meet(Mailbox& mailbox, PendingOperation& send, PendingOperation& receive) {
  if (is_from_any(receive)) note_choice(mailbox, receive, send.member);
  if (Guide* guide = engine_.choices().guide(); guide != nullptr && is_from_any(receive))
    note_taken_by_any(*guide, receive, send.step_key);
  if (!have_one_type(receive.call(), send.call().data_type, send.call().count)) {
    if (are_buffered()) depends_on_buffers_ = true;
    return matching_.mismatches().add(send, receive);
  }
  PendingOperation* const pair[] = {&send, &receive};
  const bool is_guarded = send.guard != nullptr || receive.guard != nullptr;
  if (is_guarded && matching_.mismatches().fail_without_memory(*send.gang, pair)) {
    if (are_buffered()) depends_on_buffers_ = true;
    return;
  }
  BufferGuard* const guard = guard_of(receive);
  check(world_, guard_of(send));
  check(world_, guard);
  copy_payload(receive.operation->output.data(), send.operation->input.data(),
               send.operation->input.size_bytes());
  corrupt_payload(send, receive.operation->output.data());
  seal(guard);
  receive.received = {send.member, send.call().tag};
  if (is_from_any(receive)) mailbox.taken.count(send.member, send.call());
  ++world_.counts.completed_operations;
  world_.recorder.ended(
      TraceEventKind::complete, *send.gang,
      static_cast<std::uint64_t>(send.member) << 32 | static_cast<std::uint64_t>(receive.member),
      engine_.now());
  matching_.end(send, PendingStatus::complete);
  matching_.end(receive, PendingStatus::complete);
}

void MessageMatching::fail_all(GangState& gang) {
  for (Mailbox& mailbox : gang.mailboxes) {
    const auto sends = std::move(mailbox.sends);
    const auto receives = std::move(mailbox.receives);
    const auto held = std::move(mailbox.held);
    mailbox = Mailbox{};
    for (PendingOperation* send : sends) matching_.end(*send, PendingStatus::failed);
    for (const HeldSend& late : held) matching_.end(*late.send, PendingStatus::failed);
    for (PendingOperation* receive : receives) matching_.end(*receive, PendingStatus::failed);
  }
}

void expand_batch(PendingOperation& batch) {
  const Operation& operation = *batch.operation;
  BatchEntries& entries = *(batch.make_extras().entries = std::make_unique<BatchEntries>());
  for (const PointToPoint& entry : operation.extras->batch) {
    Operation& single = entries.operations.emplace_back();
    single.collective = operation.collective;
    single.collective.kind = entry.kind;
    single.collective.data_type = entry.tensor.type();
    single.collective.peer = entry.peer;
    single.collective.tag = entry.tag;
    single.collective.shape = entry.tensor.shape();
    single.collective.count = entry.tensor.count();
    single.timeout = operation.timeout;
    single.input = entry.tensor;
    single.output = entry.tensor;
    PendingOperation& pending =
        entries.pendings.emplace_back(single, *batch.gang, batch.member, *batch.task);
    pending.form = batch.form;
    pending.batch = &batch;
  }
}

}  // namespace gang::sim
