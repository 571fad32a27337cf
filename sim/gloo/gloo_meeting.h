// The messages among the members of one simulated Gloo gang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
};

// Matches first in, first out per (source, destination, slot). Both sides complete, and the payload
// is copied, when they match. A payload that is longer than its receive fails both sides (over TCP
// it ends the receiving process); a shorter one completes. A closed connection fails what is
// pending on it on both sides; receives from any source are on no connection in particular.
// Members come in any order; messages to one that has not come yet wait for it.
// Source: Gloo 5b14351, transport/tcp.
//
// Threads: under the engine's Guard.
class GlooMeeting {
 public:
  explicit GlooMeeting(std::span<const int> root_ranks);  // of its members

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

  // Forgets what `party` of `member` has posted.
  void cancel(int member, const GlooParty& party) noexcept;

  // Members with whom transfers of `party` of `member` are pending, ascending. O(size).
  std::vector<int> sends_pending(int member, const GlooParty& party) const;
  std::vector<int> receives_pending(int member, const GlooParty& party) const;
  // The sources of its receives from any source that are pending.
  std::vector<int> open_receive_pending(int member, const GlooParty& party) const;

 private:
  // What one source and one destination have posted for each other.
  struct Link {
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
  static void deliver(const GlooTransfer& send, const GlooTransfer& receive, int source,
                      int destination);

  std::vector<int> root_ranks_;
  std::vector<Mailbox> mailboxes_;
};

}  // namespace gang::sim
