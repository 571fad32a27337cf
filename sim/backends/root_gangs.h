// The root gangs of a world whose gangs are not the simulator's own.
#pragma once

#include <memory>

#include "gang/gang.h"

namespace gang::sim {

class BlockedWorld;
class Engine;
class VerdictCertainty;

// Makes the root gang of each rank, in the rank's own context. One per run.
class RootGangs {
 public:
  virtual ~RootGangs() = default;
  virtual std::shared_ptr<Gang> make(int rank) = 0;

  // Under faults, and the engine's Guard: the process of a rank has ended, of which nobody is told;
  // its peers learn of it; what was held on its way may be due.
  virtual void rank_died(int /*rank*/) {}
  virtual void rank_gone(int /*rank*/) {}
  virtual void release_held() {}

  // Adds findings for why the dead contexts of `world` wait, where it knows more than they do.
  virtual void report_causes(Engine& /*engine*/, const BlockedWorld& /*world*/,
                             VerdictCertainty& /*certainty*/) {}
};

// As the engine's options say; null for SimulatedBackend::sim.
std::unique_ptr<RootGangs> make_root_gangs(Engine& engine);

}  // namespace gang::sim
