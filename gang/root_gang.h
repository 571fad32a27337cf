// The root gang of a real process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gang/environment.h"
#include "gang/gang.h"

namespace gang {

enum class Monitoring : std::uint8_t { off, before_every_operation };
// on: when an operation on one gang of a rank times out or fails, all gangs of that rank that come
// from the same root are aborted, and their members learn of it at once (Gloo).
enum class Watchdog : std::uint8_t { off, on };
enum class StreamPriority : std::uint8_t { normal, high };

struct RootGangOptions {
  Device device;
  Duration timeout = default_timeout;
  Monitoring monitored = Monitoring::off;
  StreamPriority priority = StreamPriority::normal;  // cuda only
  Watchdog watchdog = Watchdog::off;
  // A folder for the dumps of a FlightRecorder, one per rank: what each has called, when a gang
  // breaks, when a call is overdue, on SIGUSR1 and at the end. Empty: that of the environment's
  // GANGSIM_RECORD; nothing is recorded without either. `gangsim explain` reads it.
  std::string record_folder;
};

// The gang of all processes of the job that `environment` describes: Gloo for cpu and NCCL for
// cuda, or a FakeGang of size 1 without an environment. Blocks until all ranks have arrived.
//
// Throws InvalidArgument for bad options (also a folder that cannot be written to), NotSupported if
// the backend is not built in (says which and why), GangError (timeout, connection) if the ranks do
// not meet.
std::shared_ptr<Gang> setup_root_gang(const std::optional<Environment>& environment,
                                      const RootGangOptions& options = {});

// Whether this build and machine have a real backend.
struct BackendAvailability {
  bool is_available = false;
  std::string reason;  // why not
};
BackendAvailability gloo_availability();
BackendAvailability nccl_availability();

}  // namespace gang
