// A property: what must always hold, checked on many generated cases.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gang/duration.h"
#include "harness/backends/backend.h"
#include "sim/report/report.h"

namespace gang::properties {

// How hard to look. Equal settings give equal cases, verdicts and shrunk cases on every machine
// (unless the time budget ends the search first).
struct Settings {
  std::uint64_t cases = 30'000;  // of a cheap property; costlier ones run a stated fraction of it
  std::uint64_t seed = 1;
  int max_world = 16;                   // ranks of a generated world, >= 1
  std::optional<Duration> time_budget;  // stop looking for failures after this much wall-clock time
  // How long to shrink a failure that was found, whatever the time budget.
  Duration shrink_budget = std::chrono::seconds(10);
  std::optional<std::string> reproduce;  // a Counterexample's token: replay exactly that case
  std::function<void(std::uint64_t cases)> progress;  // called before every case; may be empty
};

// A case for which the property is false, as small as shrinking made it.
struct Counterexample {
  std::string text;               // the shrunk case, in lines for people
  std::string message;            // what was wrong with it
  std::string found_in;           // the first line of the case that was found, before shrinking
  std::uint64_t case_number = 0;  // from 1
  std::uint64_t shrink_steps = 0;
  std::string reproduce;                   // for Settings::reproduce, with the same property
  std::shared_ptr<const sim::Report> run;  // of the shrunk case, if a run shows it; otherwise null
};

struct CheckResult {
  std::uint64_t cases = 0;          // checked
  std::uint64_t planned_cases = 0;  // more than `cases` if the time budget ended the search
  std::uint64_t discards = 0;       // generated, but not covered by the property
  Duration time{0};
  std::optional<Counterexample> counterexample;
  std::string gave_up;  // why no verdict was reached; empty otherwise
  std::string figures;  // what was counted on the way, in lines for people; mostly empty

  bool held() const noexcept { return !counterexample && gave_up.empty(); }
};

// A law with its name: a value. `check` blocks until there is a verdict; it throws InvalidArgument
// for a `reproduce` token that is malformed or belongs to another property, nothing else. Threads:
// different properties may be checked concurrently.
struct Property {
  std::string suite;        // "meshes_partition"
  std::string name;         // "axes_of_a_mesh_partition_the_root"
  std::string description;  // one sentence
  std::function<CheckResult(const Settings&)> check;
  harness::BackendKind backend = harness::BackendKind::sim;  // what the gangs under test are

  std::string full_name() const { return suite + "." + name; }
};

}  // namespace gang::properties
