// The root gang of a real process.
#pragma once

#include <memory>
#include <optional>

#include "gang/environment.h"
#include "gang/gang.h"

namespace gang {

enum class Monitoring : std::uint8_t { off, before_every_operation };
// on: when an operation on one gang of a rank has timed out or failed, all of the rank's gangs that
// come from the same root are aborted, and their members learn of it at once (Gloo).
enum class Watchdog : std::uint8_t { off, on };
enum class StreamPriority : std::uint8_t { normal, high };

struct RootGangOptions {
  Device device;
  Duration timeout = default_timeout;
  Monitoring monitored = Monitoring::off;
  StreamPriority priority = StreamPriority::normal;  // cuda only
  Watchdog watchdog = Watchdog::off;
};

// The gang of all processes of the job that `environment` describes: a FakeGang of size 1 without
// one, else Gloo for cpu and NCCL for cuda. Blocks until all ranks have come.
//
// Throws InvalidArgument for bad options, NotSupported where the backend is not built (says which
// and why), GangError (timeout, connection) where the ranks do not meet.
std::shared_ptr<Gang> setup_root_gang(const std::optional<Environment>& environment,
                                      const RootGangOptions& options = {});

// A real backend: may be unavailable in this build, and then says why.
struct BackendAvailability {
  bool is_available = false;
  std::string reason;  // why not
};
BackendAvailability gloo_availability();
BackendAvailability nccl_availability();

}  // namespace gang
