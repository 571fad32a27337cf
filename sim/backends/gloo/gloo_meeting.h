// The messages among the members of one simulated Gloo gang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/matching/interference.h"

namespace gang::sim {

// Posts transfers and is notified when each one ends.
class GlooParty {
 public:
  enum class Side : std::uint8_t { send, receive };

  virtual ~GlooParty() = default;
  virtual std::byte* data() const noexcept = 0;
  // `other`: the peer's party.
  virtual void completed(Side side, int peer, const GlooParty& other) = 0;
  virtual void failed(Side side, const std::string& reason) = 0;
  // What a Guide knows it by; 0: there is none.
  virtual std::uint64_t step_key() const noexcept { return 0; }
};

// A part of a party's memory to send from or receive into.
struct GlooTransfer {
  GlooParty* party = nullptr;
  std::uint64_t slot = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::uint64_t arrival = 0;                 // of a send that waits: in which order they came
  const ArmedFault* corrupted_by = nullptr;  // the fault that corrupts it in transit
};

// Decides what a fault plan does to messages in transit. Ranks are those of the root gang.
class MessageFates {
 public:
  virtual ~MessageFates() = default;

  // The fate of a message that `from` is about to send.
  virtual LinkFate fate_of(const Crossing& crossing) = 0;
  virtual void corrupt(std::span<std::byte> payload, const ArmedFault& fault) = 0;

  // Whether the rank's process has stopped for good: it will never send its unsent messages.
  virtual bool is_silent(int rank) const = 0;
};

// Matches first in, first out per (source, destination, slot); a receive from any source takes the
// message that has waited longest, whereas Gloo takes that of the lowest rank among those that have
// come: in either case, any sender can be first. Both sides complete, and the payload
// is copied, when they match. A payload longer than its receive fails both sides (over TCP, it ends
// the receiving process); a shorter one completes. Closing a connection fails its pending transfers
// on both sides; a receive from any source belongs to no particular connection. Members arrive in
// any order; messages to a member that has not arrived yet wait for it.
//
// With `fates`, a held or lost message delays all later messages from its source to its
// destination, like bytes of one connection. A held message arrives at `release`, a lost one never.
// Source: Gloo 5b14351, transport/tcp.
//
// Threads: under the engine's Guard.
class GlooMeeting {
 public:
  // `name`: unique within the run. `root_ranks`: those of its members. `fates`: null without
  // faults; must outlive the meeting.
  GlooMeeting(std::string_view name, std::span<const int> root_ranks,
              MessageFates* fates = nullptr);

  // What a Guide knows it by.
  std::uint64_t key() const noexcept { return key_; }

  int size() const noexcept { return static_cast<int>(root_ranks_.size()); }
  int root_rank_of(int member) const noexcept {
    return root_ranks_[static_cast<std::size_t>(member)];
  }

  // If the connection is closed, posts nothing and returns the reason. Otherwise, returns null.
  const std::string* send(int source, int destination, const GlooTransfer& transfer);
  const std::string* receive(int destination, int source, const GlooTransfer& transfer);

  // `sources`: indexed by member.
  void receive_from_any(int destination, const GlooTransfer& transfer, std::vector<bool> sources);

  // Fails all pending transfers between the two: with `reason` for `member`, and with
  // "Connection closed by peer" for `peer`.
  void close(int member, int peer, const std::string& reason);

  // Closes all connections of a member whose process is gone.
  void member_gone(int member);

  // Delivers the messages that were held until `now`.
  void release(TimePoint now);

  // Drops all transfers posted by `party` of `member`.
  void cancel(int member, const GlooParty& party) noexcept;

  // Members with which `party` of `member` has pending transfers, ascending. O(size).
  std::vector<int> sends_pending(int member, const GlooParty& party) const;
  std::vector<int> receives_pending(int member, const GlooParty& party) const;
  // The sources of its pending receives from any source.
  std::vector<int> open_receive_pending(int member, const GlooParty& party) const;

 private:
  // The transfers that one source and one destination have posted for each other.
  struct Held {
    GlooTransfer send;
    TimePoint until;
  };

  struct Link {
    std::vector<Held> held;           // sent but not yet arrived; only under faults
    std::vector<GlooTransfer> sends;  // few, so shifting a vector is cheapest
    std::vector<GlooTransfer> receives;
    std::string closed_for_sender;  // the reason; empty if open
    std::string closed_for_receiver;
  };

  struct OpenReceive {
    GlooTransfer transfer;
    std::vector<bool> sources;
  };

  struct Mailbox {  // of one destination
    std::vector<Link> links;
    std::vector<OpenReceive> open_receives;
  };

  Link& link(int source, int destination);
  const Link* find_link(int source, int destination) const noexcept;
  void deliver(const GlooTransfer& send, const GlooTransfer& receive, int source,
               int destination) const;
  bool hold(Link& link, GlooTransfer& send, int source, int destination);
  void arrive(Link& link, const GlooTransfer& send, int source, int destination);
  bool is_silent(int member) const {
    return fates_ != nullptr && fates_->is_silent(root_rank_of(member));
  }

  const std::uint64_t key_;
  std::uint64_t arrivals_ = 0;
  std::vector<int> root_ranks_;
  MessageFates* fates_;
  std::vector<Mailbox> mailboxes_;
};

}  // namespace gang::sim
