// In which runs a deadlock happens.
#pragma once

#include <memory>

#include "sim/verdict/blocked_world.h"

namespace gang::sim {

// Decides, from the state at a deadlock, whether it can depend on how sends or streams work, by
// reducing the wait-for graph again as if they blocked no rank. Contexts that are dead even then do
// not depend on them; for the others it stays open until another run shows it (further_runs/). A
// deadlock is known to happen in every schedule only if the run passed no choice point; what could
// not have come otherwise is none (engine/choices.h).
class VerdictCertainty {
 public:
  // `world` is the graph without assumptions; it must outlive this.
  VerdictCertainty(const World& world, const BlockedWorld& blocked);

  // For the deadlock that `context` is part of. O(1) except for the first call under each
  // assumption.
  Certainty of(const Task& context);

  // Whether `context` might continue if sends completed at once.
  bool depends_on_sends(const Task& context);

  // Whether it might continue if no operation were queued behind another.
  bool depends_on_streams(const Task& context);

 private:
  const World& world_;
  const BlockedWorld& blocked_;
  std::unique_ptr<BlockedWorld> with_complete_sends_;
  std::unique_ptr<BlockedWorld> without_streams_;
};

}  // namespace gang::sim
