#include "gang/gloo/gloo_gang.h"

namespace gang {

BackendAvailability gloo_availability() { return {true, ""}; }

std::shared_ptr<Gang> make_gloo_root_gang(const Environment& environment,
                                          const RootGangOptions& options) {
  if (environment.world_size > 1)
    throw NotSupported("a gang of " + std::to_string(environment.world_size) +
                       " processes needs a store over TCP, which this version lacks; accepted are "
                       "gangs of one process");
  return make_gloo_gang({.runtime = make_real_runtime(), .timeout = options.timeout});
}

}  // namespace gang
