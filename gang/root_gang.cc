#include "gang/root_gang.h"

#include "gang/fake_gang.h"
#include "gang/gloo/gloo_gang.h"
#include "gang/nccl/nccl_gang.h"
#include "gang/recording/flight_recorder.h"
#include "gang/recording/recording_gang.h"

namespace gang {
namespace {

std::shared_ptr<Gang> make_root_gang(const std::optional<Environment>& environment,
                                     const RootGangOptions& options) {
  if (!environment) return make_fake_gang({.device = options.device, .timeout = options.timeout});
  if (options.device.type == DeviceType::cpu) return make_gloo_root_gang(*environment, options);
  return make_nccl_root_gang(*environment, options);
}

}  // namespace

std::shared_ptr<Gang> setup_root_gang(const std::optional<Environment>& environment,
                                      const RootGangOptions& options) {
  check_timeout("setup_root_gang", options.timeout);
  if (options.device.index < 0)
    throw InvalidArgument("setup_root_gang: device index is " +
                          std::to_string(options.device.index) + "; must be 0 or more");
  const std::string folder = !options.record_folder.empty() || !environment
                                 ? options.record_folder
                                 : environment->record_folder;
  if (folder.empty()) return make_root_gang(environment, options);
  // Before the ranks meet: a folder that cannot be written to is bad input.
  const auto recorder = std::make_shared<FlightRecorder>(
      FlightRecorderOptions{.folder = folder,
                            .rank = environment ? environment->rank : 0,
                            .is_in_stream = options.device.type == DeviceType::cuda});
  return std::make_shared<RecordingGang>(make_root_gang(environment, options), recorder);
}

}  // namespace gang
