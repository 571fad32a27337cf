#include "sim/backends/root_gangs.h"

#include "sim/backends/gloo/gloo_roots.h"
#include "sim/backends/nccl/nccl_roots.h"
#include "sim/engine/engine.h"

namespace gang::sim {

std::unique_ptr<RootGangs> make_root_gangs(Engine& engine) {
  switch (engine.options().backend) {
    case SimulatedBackend::sim:
      return nullptr;
    case SimulatedBackend::gloo:
      return make_gloo_roots(engine);
    case SimulatedBackend::nccl:
      return make_nccl_roots(engine);
  }
  return nullptr;
}

}  // namespace gang::sim
