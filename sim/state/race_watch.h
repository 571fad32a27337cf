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

// What a receive from any source has taken.
struct TakenMessage {
  int source = 0;      // member
  int wanted_tag = 0;  // any_tag: any
  std::uint64_t receive_index = 0;
  std::uint64_t digest = 0;  // of the message's type, size and bytes
  CallSite receive_site;
  CallSite send_site;
  std::string operation;
};

// The last messages that receives from any source of one member have taken. In its mailbox once it
// has posted one.
struct TakenMessages {
  std::deque<TakenMessage> recent;
};

// Collects candidates: for every receive from any source, the messages of other sources that were
// there when it took one, and those that came afterwards, as far as they differ from the one it
// took. Whether those that came afterwards could have come before is left to a forced run. Keeps
// the first few; remembers the last receives of each member only.
class RaceWatch {
 public:
  // `receive` has been posted with any_rank, and has taken the message of `send`. The messages that
  // are left in `mailbox` could have been taken instead.
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
