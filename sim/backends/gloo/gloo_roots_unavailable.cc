#include "gang/error.h"
#include "sim/backends/gloo/gloo_roots.h"

namespace gang::sim {

std::unique_ptr<ForeignGangs> make_gloo_roots(World&) {
  throw NotSupported("sim-gloo needs the Gloo library (libgloo-dev), which this build lacks");
}

}  // namespace gang::sim
