#include "gang/root_gang.h"

#include "gang/fake_gang.h"
#include "gang/gloo/gloo_gang.h"
#include "gang/nccl/nccl_gang.h"

namespace gang {

std::shared_ptr<Gang> setup_root_gang(const std::optional<Environment>& environment,
                                      const RootGangOptions& options) {
  check_timeout("setup_root_gang", options.timeout);
  if (options.device.index < 0)
    throw InvalidArgument("setup_root_gang: device index is " +
                          std::to_string(options.device.index) + "; must be 0 or more");
  if (!environment) return make_fake_gang({.device = options.device, .timeout = options.timeout});
  if (options.device.type == DeviceType::cpu) return make_gloo_root_gang(*environment, options);
  return make_nccl_root_gang(*environment, options);
}

}  // namespace gang
