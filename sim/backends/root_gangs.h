// The root gangs of a world that does not use the simulator's own.
#pragma once

#include <memory>

#include "sim/backends/observed_gang.h"
#include "sim/matching/foreign_gangs.h"

namespace gang::sim {

// Selects the backend by the world's options; null for SimulatedBackend::sim.
std::unique_ptr<ForeignGangs> make_root_gangs(World& world);

// Root gangs whose calls are observed. No peer is connected to that of a restarted rank, and no
// call reaches it.
class ObservedRoots : public ForeignGangs {
 public:
  std::shared_ptr<Gang> make(int rank) final;

 protected:
  explicit ObservedRoots(World& world) : ForeignGangs(world), world_(world), gangs_(world) {}
  World& world() const noexcept { return world_; }

 private:
  virtual std::shared_ptr<Gang> make_connected(int rank) = 0;
  virtual Strikes& strikes() noexcept = 0;

  World& world_;
  ObservedGangs gangs_;
};

}  // namespace gang::sim
