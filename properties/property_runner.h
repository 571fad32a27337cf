// Checks many properties, several at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "properties/property.h"

namespace gang::properties {

struct RunnerOptions {
  Settings settings;  // time_budget: of all properties together
  int jobs = 1;       // properties that are checked at a time, >= 1
  Duration progress_interval = std::chrono::milliseconds(100);
};

// How far a run has come.
struct Progress {
  std::size_t finished = 0;  // properties
  std::size_t total = 0;
  std::uint64_t cases = 0;  // of all properties together
  std::string running;      // the name of one that is being checked
};

// What a run reports, always on the calling thread.
struct RunnerEvents {
  std::function<void(std::size_t index, const CheckResult& result)> finished;  // in list order
  std::function<void(const Progress&)> progress;                               // may be empty
};

// Checks every property and returns the results in their order. Blocks. Results do not depend on
// `jobs` (unless the time budget ends a search first). Throws what the first failing check throws
// (InvalidArgument), after all have ended.
std::vector<CheckResult> run_properties(const std::vector<Property>& properties,
                                        const RunnerOptions& options, const RunnerEvents& events);

}  // namespace gang::properties
