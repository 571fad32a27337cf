// The messages among the members of one simulated Gloo gang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/matching/interference.h"

namespace gang::sim {

// Whoever posts transfers: told of each one's end.
class GlooParty {
 public:
  enum class Side : std::uint8_t { send, receive };

  virtual ~GlooParty() = default;
  virtual std::byte* data() const noexcept = 0;
  virtual void completed(Side side, int peer) = 0;
  virtual void failed(Side side, const std::string& reason) = 0;
};

// A part of a party's memory that is to be sent or filled.
struct GlooTransfer {
  GlooParty* party = nullptr;
  std::uint64_t slot = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  const ArmedFault* corrupted_by = nullptr;  // a fault changes it on its way
};

// What becomes of messages on their way under a plan of faults. Ranks are the root gang's.
class MessageFates {
 public:
  virtual ~MessageFates() = default;

  // Of one that `from` is about to send.
  virtual LinkFate fate_of(const Crossing& crossing) = 0;
  virtual void corrupt(std::span<std::byte> payload, const ArmedFault& fault) = 0;

  // Whether the process of the rank does nothing any more: what it has not sent yet, it never will.
  virtual bool is_silent(int rank) const = 0;
};

// Matches first in, first out per (source, destination, slot). Both sides complete, and the payload
// is copied, when they match. A payload that is longer than its receive fails both sides (over TCP
// it ends the receiving process); a shorter one completes. A closed connection fails what is
// pending on it on both sides; receives from any source are on no connection in particular.
// Members come in any order; messages to one that has not come yet wait for it.
//
// With `fates`: a message that is held or lost holds up all that its source sends to its
// destination after it, as bytes of one connection do: it arrives at `release`, a lost one never.
// Source: Gloo 5b14351, transport/tcp.
//
// Threads: under the engine's Guard.
class GlooMeeting {
 public:
  // `root_ranks`: of its members. `fates`: null where nothing goes wrong; outlives the meeting.
  explicit GlooMeeting(std::span<const int> root_ranks, MessageFates* fates = nullptr);

  int size() const noexcept { return static_cast<int>(root_ranks_.size()); }
  int root_rank_of(int member) const noexcept {
    return root_ranks_[static_cast<std::size_t>(member)];
  }

  // Why the connection is closed, where it is: nothing is posted then. Else null.
  const std::string* send(int source, int destination, const GlooTransfer& transfer);
  const std::string* receive(int destination, int source, const GlooTransfer& transfer);

  // `sources`: by member.
  void receive_from_any(int destination, const GlooTransfer& transfer, std::vector<bool> sources);

  // Fails what is pending between the two: for `member` with `reason`, for the other with
  // "Connection closed by peer".
  void close(int member, int peer, const std::string& reason);

  // The process of a member is gone: all its connections close.
  void member_gone(int member);

  // What was held until `now` arrives.
  void release(TimePoint now);

  // Forgets what `party` of `member` has posted.
  void cancel(int member, const GlooParty& party) noexcept;

  // Members with whom transfers of `party` of `member` are pending, ascending. O(size).
  std::vector<int> sends_pending(int member, const GlooParty& party) const;
  std::vector<int> receives_pending(int member, const GlooParty& party) const;
  // The sources of its receives from any source that are pending.
  std::vector<int> open_receive_pending(int member, const GlooParty& party) const;

 private:
  // What one source and one destination have posted for each other.
  struct Held {
    GlooTransfer send;
    TimePoint until;
  };

  struct Link {
    std::vector<Held> held;           // sent, but not there yet; only under faults
    std::vector<GlooTransfer> sends;  // few: vectors, and moving what is behind, cost least
    std::vector<GlooTransfer> receives;
    std::string closed_for_sender;  // why; empty: open
    std::string closed_for_receiver;
  };

  struct OpenReceive {
    GlooTransfer transfer;
    std::vector<bool> sources;
  };

  struct Mailbox {  // of a destination
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

  std::vector<int> root_ranks_;
  MessageFates* fates_;
  std::vector<Mailbox> mailboxes_;
};

}  // namespace gang::sim
