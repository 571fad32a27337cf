// Makes the schedule of a failure simpler.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/run/runner.h"
#include "sim/schedule/detours.h"

namespace gang::harness {

// A run that goes on by itself, but for a few detours.
struct RunWithDetours {
  RunResult result;                  // with its schedule
  std::vector<sim::Detour> detours;  // those that were made, and no others
  std::vector<sim::Detour> left;     // the first of them was not met
};

// Not for the schedule `recheck`, or faults, or ContextKind::parallel.
RunWithDetours run_with_detours(const Program& program, const RunSpecification& specification,
                                const std::vector<sim::Detour>& detours,
                                const RunRecording& recording = {},
                                std::string_view binary = "gangsim");

// A failure that needs few detours. `attempts` counts the runs.
struct SimplerSchedule {
  RunWithDetours run;
  std::size_t attempts = 0;
};

// Leaves out detours of `failure`, which made `detours`, as long as the run fails in the same
// way; a message_race, as long as it puts out the same.
SimplerSchedule simplify_schedule(const Program& program, const RunResult& failure,
                                  const std::vector<sim::Detour>& detours,
                                  std::size_t most_attempts = 400);

}  // namespace gang::harness
