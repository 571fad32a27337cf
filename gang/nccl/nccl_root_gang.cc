#include <utility>

#include "gang/nccl/nccl_gang.h"
#include "gang/nccl/real_nccl_api.h"
#include "gang/nccl/store_meeting.h"
#include "gang/root_meeting.h"
#include "gang/store/memory_store.h"
#include "gang/validating_gang.h"

namespace gang {
std::shared_ptr<Gang> make_nccl_root_gang(const Environment& environment,
                                          const RootGangOptions& options) {
  if (const BackendAvailability nccl = nccl_availability(); !nccl.is_available)
    throw NotSupported("a gang of " + std::to_string(environment.world_size) +
                       " processes on cuda needs nccl: " + nccl.reason);
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::shared_ptr<NcclApi> api = make_real_nccl_api(options.device.index, runtime);
  const std::shared_ptr<Store> store = environment.world_size > 1
                                           ? meet_as_root_gang(environment, options.timeout)
                                           : make_memory_store(*runtime);
  std::shared_ptr<Gang> root =
      make_nccl_gang({.world = {.api = std::move(api),
                                .meeting = make_store_meeting(store, runtime),
                                .runtime = runtime,
                                .watchdog = NcclWatchdog::always},
                      .rank = environment.rank,
                      .size = environment.world_size,
                      .timeout = options.timeout,
                      .priority = options.priority});
  if (options.monitored == Monitoring::off) return root;
  return make_validating_gang(
      std::move(root),
      {.runtime = runtime, .missing_ranks = ValidatingGangOptions::MissingRanks::named});
}

}  // namespace gang
