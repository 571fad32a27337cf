#include "gang/gloo/gloo_gang.h"

namespace gang {

BackendAvailability gloo_availability() {
  return {false, "gloo is not built into this version; use fake or simulated gangs"};
}

std::shared_ptr<Gang> make_gloo_root_gang(const Environment& environment, const RootGangOptions&) {
  throw NotSupported("a gang of " + std::to_string(environment.world_size) +
                     " processes on cpu needs gloo: " + gloo_availability().reason);
}

std::shared_ptr<Gang> make_gloo_gang(const GlooGangOptions&) {
  throw NotSupported(gloo_availability().reason);
}

std::shared_ptr<GlooConnector> make_loopback_connector(std::shared_ptr<Store>,
                                                       std::shared_ptr<Runtime>) {
  throw NotSupported(gloo_availability().reason);
}

std::shared_ptr<GlooConnector> make_job_connector(const Environment&, std::shared_ptr<Store>,
                                                  std::shared_ptr<Runtime>) {
  throw NotSupported(gloo_availability().reason);
}

}  // namespace gang
