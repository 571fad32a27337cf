// Which receives from any source could have taken another message.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/pending_operation.h"

namespace gang::sim {

struct GangState;
struct Mailbox;

// A message taken by a receive from any source.
struct TakenMessage {
  int source = 0;      // member
  int wanted_tag = 0;  // any_tag: any
  std::uint64_t receive_index = 0;
  std::uint64_t digest = 0;  // of the message's type, size and bytes
  CallSite receive_site;
  CallSite send_site;
  CallText call;
};

// The last messages taken by one member's receives from any source. Kept in its mailbox once it has
// posted such a receive.
struct TakenMessages {
  std::deque<TakenMessage> recent;
};

// Collects candidates: for every receive from any source, the messages of other sources that were
// present when it took one, and those that arrived later, if they differ from the one it took. A
// forced run decides whether the later ones could have arrived earlier. Keeps the first few
// candidates; remembers only the last receives of each member.
class RaceWatch {
 public:
  // `receive` was posted with any_rank and has taken the message of `send`. It could have taken any
  // message left in `mailbox` instead.
  void took(Mailbox& mailbox, const PendingOperation& receive, int source, const Collective& send,
            std::span<const std::byte> payload);

  // `send` has been posted; `mailbox` has taken messages before.
  void sent(const Mailbox& mailbox, const PendingOperation& send);

  std::vector<RaceCandidate> take() { return std::move(candidates_); }

 private:
  void add(const GangState& gang, int receiver, const TakenMessage& taken, int source,
           const CallSite& site);
  bool is_full() const noexcept;

  std::vector<RaceCandidate> candidates_;
};

}  // namespace gang::sim
