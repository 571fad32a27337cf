// What the operations of a run ask when something is wrong.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sim/state/gang_state.h"

namespace gang::sim {

// The seam between matching and the explanations of sim/verdict. Asked off the hot path only, under
// the engine's Guard. Findings go into the run's log.
class Diagnosis {
 public:
  virtual ~Diagnosis() = default;

  // Calls of one operation of `gang` differ; null members have not come. Adds the finding; returns
  // why the gang breaks.
  virtual std::shared_ptr<const BreakCause> mismatch(
      GangState& gang, std::span<PendingOperation* const> members) = 0;

  // `pending` has timed out because of `cause.ranks_at_fault`. Completes `cause` with its finding,
  // which waits until it ends a program where faults have happened.
  virtual void timed_out(const PendingOperation& pending, BreakCause& cause) = 0;

  // The rank of `pending` is about to be told why the gang of `pending` is broken.
  virtual void failure_reaches(const PendingOperation& pending) = 0;

  // The program has dropped `pending` without waiting for it. Returns the finding's index.
  virtual std::size_t dropped(const PendingOperation& pending) = 0;

  // No member of `gang` will receive any more: adds findings for its buffered messages.
  virtual void unreceived(const GangState& gang) = 0;
};

}  // namespace gang::sim
