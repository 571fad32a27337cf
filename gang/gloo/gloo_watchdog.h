// What happens to the other gangs of a rank when one of them breaks.
#pragma once

#include <memory>
#include <vector>

#include "gang/ending_work.h"

namespace gang {

class GlooMember;
struct GangCause;

// Aborts all Gloo gangs of a rank when an operation on one of them has timed out or failed, so that
// a rank that has lost a peer does not keep the peers of its other gangs waiting until their
// timeouts. torch calls this asynchronous error handling (but also ends the process). One for all
// gangs that come from one root. Threads: any thread of the rank.
class GlooWatchdog {
 public:
  explicit GlooWatchdog(std::shared_ptr<CompletionBoard> board) : board_(std::move(board)) {}

  void watch(const std::shared_ptr<GlooMember>& member);

  // `broken` broke because of `cause`. Does nothing if that was wanted, that is, after an abort.
  void gang_broke(const GlooMember& broken, const GangCause& cause);

 private:
  std::vector<std::shared_ptr<GlooMember>> others_of(const GlooMember& broken);

  std::shared_ptr<CompletionBoard> board_;
  std::vector<std::weak_ptr<GlooMember>> members_;  // under the board's lock
};

}  // namespace gang
