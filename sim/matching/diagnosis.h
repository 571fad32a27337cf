// Explains operations that go wrong.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sim/state/gang_state.h"

namespace gang::sim {

// The seam between matching and the explanations of sim/verdict. Called off the hot path only,
// under the engine's Guard. Adds findings to the run's log.
class Diagnosis {
 public:
  virtual ~Diagnosis() = default;

  // Calls of one operation of `gang` differ; null members have not arrived. Adds the finding;
  // returns why the gang breaks.
  virtual std::shared_ptr<const BreakCause> mismatch(
      GangState& gang, std::span<PendingOperation* const> members) = 0;

  // `pending` has timed out because of `cause.ranks_at_fault`. Completes `cause` with its finding,
  // which is reported only if it ends a program.
  virtual void timed_out(const PendingOperation& pending, BreakCause& cause) = 0;

  // The rank of `pending` is about to learn why the gang of `pending` is broken.
  virtual void failure_reaches(const PendingOperation& pending) = 0;

  // `pending` is called while another context of its rank is blocked in a call of the same gang.
  virtual void used_at_once(const PendingOperation& pending) = 0;

  // The program has dropped `pending` without waiting for it. Returns the finding's index.
  virtual std::size_t dropped(const PendingOperation& pending) = 0;

  // No member of `gang` will receive again: adds findings for its buffered messages.
  virtual void unreceived(const GangState& gang) = 0;
};

}  // namespace gang::sim
