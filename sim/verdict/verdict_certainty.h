// In which runs a deadlock happens.
#pragma once

#include <memory>

#include "sim/verdict/blocked_world.h"

namespace gang::sim {

// Decides, from the state at a deadlock, whether it can depend on how sends or streams work: the
// wait-for graph is reduced once more as if they held nobody up. What is dead even then is dead
// whatever they do. For what is not, only another run can tell (further_runs/); it is open. Whether
// it depends on the schedule is known only where no choice point was passed.
class VerdictCertainty {
 public:
  // `world` is the one without assumptions, and outlives this.
  VerdictCertainty(const World& world, const BlockedWorld& blocked);

  // Of the deadlock that `context` is part of. O(1), but for the first call under each assumption.
  Certainty of(const Task& context);

  // Whether `context` might go on if sends completed at once.
  bool depends_on_sends(const Task& context);

  // Whether it might go on if no operation were queued behind another.
  bool depends_on_streams(const Task& context);

 private:
  const World& world_;
  const BlockedWorld& blocked_;
  std::unique_ptr<BlockedWorld> with_complete_sends_;
  std::unique_ptr<BlockedWorld> without_streams_;
};

}  // namespace gang::sim
