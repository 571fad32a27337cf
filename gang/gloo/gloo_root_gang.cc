#include <utility>

#include "gang/gloo/gloo_gang.h"
#include "gang/gloo/store_connector.h"
#include "gang/store/rendezvous.h"
#include "gang/validating_gang.h"

namespace gang {
namespace {

GangErrorKind kind_of(StoreErrorKind kind) {
  if (kind == StoreErrorKind::timeout) return GangErrorKind::timeout;
  if (kind == StoreErrorKind::corrupt || kind == StoreErrorKind::dialect)
    return GangErrorKind::corrupt;
  return GangErrorKind::connection;
}

// Meets the other processes. What goes wrong is the gang's failure, before it is one.
std::shared_ptr<Store> meet(const Environment& environment, Duration timeout) {
  try {
    return make_rendezvous_store(environment, timeout);
  } catch (const StoreError& error) {
    GangFailure failure;
    failure.kind = kind_of(error.kind());
    failure.gang = "root[0-" + std::to_string(environment.world_size - 1) + "]";
    failure.rank = environment.rank;
    failure.operation.kind = OperationKind::create_gang;
    failure.operation.count = environment.world_size;
    failure.operation.shape = Shape::vector(environment.world_size);
    failure.elapsed = timeout;
    failure.reason = error.what();
    throw GangError(std::move(failure));
  }
}

}  // namespace

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
  if (environment.world_size > 1) {
    gloo.connector = make_job_connector(environment, meet(environment, options.timeout), runtime);
  }
  std::shared_ptr<Gang> root = make_gloo_gang(gloo);
  if (options.monitored == Monitoring::off) return root;
  return make_validating_gang(
      std::move(root),
      {.runtime = runtime, .missing_ranks = ValidatingGangOptions::MissingRanks::named});
}

}  // namespace gang
