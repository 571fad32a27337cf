#include <utility>

#include "gang/gloo/gloo_gang.h"
#include "gang/gloo/store_connector.h"
#include "gang/root_meeting.h"
#include "gang/validating_gang.h"

namespace gang {
BackendAvailability gloo_availability() { return {true, ""}; }

std::shared_ptr<GlooConnector> make_job_connector(const Environment& environment,
                                                  std::shared_ptr<Store> store,
                                                  std::shared_ptr<Runtime> runtime) {
  return make_store_connector(make_tcp_device(environment.master_address), std::move(store),
                              std::move(runtime));
}

std::shared_ptr<Gang> make_gloo_root_gang(const Environment& environment,
                                          const RootGangOptions& options) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  GlooGangOptions gloo{.runtime = runtime,
                       .rank = environment.rank,
                       .size = environment.world_size,
                       .timeout = options.timeout,
                       .watchdog = options.watchdog};
  if (environment.world_size > 1)
    gloo.connector =
        make_job_connector(environment, meet_as_root_gang(environment, options.timeout), runtime);
  std::shared_ptr<Gang> root = make_gloo_gang(gloo);
  if (options.monitored == Monitoring::off) return root;
  return make_validating_gang(
      std::move(root),
      {.runtime = runtime, .missing_ranks = ValidatingGangOptions::MissingRanks::named});
}

}  // namespace gang
