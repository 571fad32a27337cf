#include "sim/backends/root_gangs.h"

#include "gang/fake_gang.h"
#include "sim/backends/gloo/gloo_roots.h"
#include "sim/backends/nccl/nccl_roots.h"
#include "sim/engine/engine.h"
#include "sim/state/world.h"

namespace gang::sim {

std::unique_ptr<ForeignGangs> make_root_gangs(World& world) {
  switch (world.options.backend) {
    case SimulatedBackend::sim:
      return nullptr;
    case SimulatedBackend::gloo:
      return make_gloo_roots(world);
    case SimulatedBackend::nccl:
      return make_nccl_roots(world);
  }
  return nullptr;
}

std::shared_ptr<Gang> ObservedRoots::make(int rank) {
  const std::shared_ptr<Gang> gang = world_.rank(rank).incarnation == 0
                                         ? make_connected(rank)
                                         : make_fake_gang({.rank = rank,
                                                           .size = world_.options.world_size,
                                                           .name = "root",
                                                           .timeout = world_.options.timeout});
  const Engine::Guard guard(world_.engine);
  return std::make_shared<ObservedGang>(Observation{world_, gangs_, strikes(), runtime()},
                                        world_.root, gang);
}

}  // namespace gang::sim
