// What happens to the other gangs of a rank when one of them breaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gang/ending_work.h"

namespace gang {

class GlooMember;
struct GangCause;

// Aborts all Gloo gangs of a rank when an operation on one of them has timed out or has failed: a
// rank that has lost a peer does not keep the peers of its other gangs waiting until their own
// timeouts. What torch calls asynchronous error handling, short of ending the process.
// One for all gangs that come from one root. Threads: any of the rank.
class GlooWatchdog {
 public:
  explicit GlooWatchdog(std::shared_ptr<CompletionBoard> board) : board_(std::move(board)) {}

  void watch(const std::shared_ptr<GlooMember>& member);

  // `broken` is for that reason. Does nothing where somebody wanted it: after an abort.
  void gang_broke(const GlooMember& broken, const GangCause& cause);

 private:
  std::vector<std::shared_ptr<GlooMember>> others_of(const GlooMember& broken);

  std::shared_ptr<CompletionBoard> board_;
  std::vector<std::weak_ptr<GlooMember>> members_;  // under the board's lock
};

}  // namespace gang
