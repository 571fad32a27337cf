// Gangs of a world that does not use the simulator's own.
#pragma once

#include <memory>

#include "gang/gang.h"
#include "gang/runtime.h"

namespace gang::sim {

class BlockedWorld;
class FindingLog;
class VerdictCertainty;
struct World;

// Makes the root gang of each rank, in the rank's own context. One per run. Gangs may outlive it:
// holding `runtime()` keeps the run alive.
class ForeignGangs {
 public:
  explicit ForeignGangs(World& world);
  ForeignGangs(const ForeignGangs&) = delete;
  ForeignGangs& operator=(const ForeignGangs&) = delete;
  virtual ~ForeignGangs() = default;

  virtual std::shared_ptr<Gang> make(int rank) = 0;

  // Called under faults, with the engine's Guard held. The process of a rank has ended, but no peer
  // knows yet.
  virtual void rank_died(int /*rank*/) {}
  // Its peers learn of its end.
  virtual void rank_gone(int /*rank*/) {}
  // Operations held up by faults may be due now.
  virtual void release_held() {}

  // No context can run: devices go on with what they have been given. Whether any did.
  virtual bool go_on() { return false; }

  // Adds findings for why the dead contexts of `blocked` wait, where this backend knows more than
  // they do. Returns whether that explains it, by these or by findings of the run.
  virtual bool report_causes(const BlockedWorld& /*blocked*/, VerdictCertainty& /*certainty*/,
                             FindingLog& /*findings*/) {
    return false;
  }

  // The run has ended and its report is complete: only gangs that outlive the run still need it.
  // May destroy the run, and this object with it.
  void keep(std::shared_ptr<void> run);

 protected:
  // Belongs to the run.
  const std::shared_ptr<Runtime>& runtime() const noexcept { return runtime_; }

 private:
  std::shared_ptr<std::shared_ptr<void>> kept_;  // holds nothing until the run has ended
  std::shared_ptr<Runtime> runtime_;             // shares `kept_`
};

}  // namespace gang::sim
