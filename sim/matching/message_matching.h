// Matches sends with receives.
#pragma once

#include <optional>

#include "sim/state/gang_state.h"

namespace gang::sim {

class Engine;
struct World;
class Matching;

// The mailboxes of all gangs. First in, first out per (source, destination, tag); a receive from
// any source takes the oldest message that fits. Called under the engine's Guard.
class MessageMatching {
 public:
  MessageMatching(World& world, Matching& matching);

  // Posts a send, a receive or a batch, which may have ended on return.
  void post(PendingOperation& pending);

  // Ends every operation that waits in the mailboxes of a broken gang.
  void fail_all(GangState& gang);

  // Matches the sends of `gang` that faults have held, if they are due.
  void release_held(GangState& gang);

  // Whether it mattered what had been received when something was sent to a buffer, which no Guide
  // is told: there may be no space for it, or a receive that it does not fit waits for it already.
  bool depends_on_buffers() const noexcept { return depends_on_buffers_; }

 private:
  void post_batch(PendingOperation& batch);
  void post_send(PendingOperation& send, bool was_held);  // by a fault, until now
  bool meets_fault(Mailbox& mailbox, PendingOperation& send);
  inline void corrupt_payload(const PendingOperation& send, std::byte* payload);
  void corrupt(const PendingOperation& send, std::byte* payload);
  void post_receive(PendingOperation& receive);
  inline bool are_buffered() const noexcept;
  LinkBytes& link_of(Mailbox& mailbox, int source);
  void count_sent(Mailbox& mailbox, const PendingOperation& send);
  bool fits(Mailbox& mailbox, const PendingOperation& send);  // sends are buffered
  void buffer(Mailbox& mailbox, PendingOperation& send);
  // Buffer space of a link has become free, or the send ahead has left: admits waiting sends.
  void buffer_waiting(Mailbox& mailbox, int source);
  static std::optional<WaitingSends::Place> first_waiting(const Mailbox& mailbox, int source);
  bool receive_buffered(Mailbox& mailbox, PendingOperation& receive);  // buffered is not null
  void note_choice(Mailbox& mailbox, const PendingOperation& receive, int source);
  void meet(Mailbox& mailbox, PendingOperation& send, PendingOperation& receive);
  Mailbox& mailbox_of(GangState& gang, int member);

  World& world_;
  Engine& engine_;
  Matching& matching_;
  bool depends_on_buffers_ = false;
};

// Turns the entries of a batch into separate operations, owned by `batch`. Posting does so, unless
// it has been done.
void expand_batch(PendingOperation& batch);

}  // namespace gang::sim
