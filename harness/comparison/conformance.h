// Does a real backend do what simulation says? Asked by all processes of a job together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"
#include "gang/environment.h"
#include "gang/store/store.h"
#include "harness/backends/process_fault.h"
#include "harness/program/program.h"
#include "harness/run/run_specification.h"

namespace gang::harness {

// A program of a conformance run: what and how.
struct ConformanceCase {
  Program program;
  RunSpecification specification;  // seed, parameters, timeout; the backend is the real one

  // A fault that befalls one of the ranks: asked is not what sim says, but whether every other rank
  // has a right result or a typed error. Faults of processes (is_of_process; Gloo only) befall one
  // that each process of the job makes for its rank, so that the launcher, which would end all,
  // sees no death; the gangs of those are connected as those of the job's own processes are.
  std::optional<ProcessFaultKind> fault = std::nullopt;
  std::uint64_t fault_index = 0;  // which of its faults, with the seed
};

// What became of one case, on one rank or on all of them.
struct CaseVerdict {
  std::string program;
  bool agrees = true;
  std::string text;  // one sentence where it does not
  Duration elapsed{0};

  friend bool operator==(const CaseVerdict&, const CaseVerdict&) = default;
};

// The verdict that all ranks share.
struct ConformanceReport {
  std::string backend;
  int world_size = 1;
  std::uint64_t seed = 1;
  std::vector<CaseVerdict> cases;

  bool holds() const noexcept;
};

// Runs `cases` on the processes of `environment`, which all call this: each simulates the whole
// world by itself, runs its own rank on real gangs that meet in `store` (a fresh root gang for each
// case, which validates calls), and compares what its rank put out. The ranks' verdicts are
// gathered by rank 0 through the store; a rank that does not answer within the longest timeout of a
// case and ten seconds disagrees. Everyone gets the same report. Blocks.
//
// Throws InvalidArgument where another rank runs other cases (program, parameters, seed) or another
// version; NotSupported where `backend` cannot run here, or has no processes for such a fault.
ConformanceReport run_conformance(const std::vector<ConformanceCase>& cases,
                                  std::string_view backend, const Environment& environment,
                                  const std::shared_ptr<Store>& store);

// At most 80 columns, but for names.
std::string to_string(const ConformanceReport& report);
nlohmann::json to_json(const ConformanceReport& report);

// Source: the JUnit XML that Jenkins, GitLab and GitHub read.
std::string to_junit_xml(const ConformanceReport& report);

}  // namespace gang::harness
