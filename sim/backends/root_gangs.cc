#include "sim/backends/root_gangs.h"

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

}  // namespace gang::sim
