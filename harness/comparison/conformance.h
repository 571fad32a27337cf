// Does a real backend do what simulation does? Checked by all processes of a job together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"
#include "gang/environment.h"
#include "gang/store/store.h"
#include "harness/backends/process_fault.h"
#include "harness/program/program.h"
#include "harness/run/run_specification.h"
#include "harness/text/junit.h"
#include "harness/text/sarif.h"

namespace gang::harness {

// A program of a conformance run, and how to run it.
struct ConformanceCase {
  Program program;
  RunSpecification specification;  // seed, parameters, timeout; the backend is the real one

  // A fault of one of the ranks: the check is not against simulation, but whether every other rank
  // has a right result or a typed error. Faults of processes (is_of_process; Gloo only) happen to a
  // process that each process of the job starts for its rank, so that the launcher, which would end
  // the job, sees no death; the gangs of those are connected like those of the job's own processes.
  std::optional<ProcessFaultKind> fault = std::nullopt;
  std::uint64_t fault_index = 0;  // which of its faults, with the seed
};

// The verdict on one case, of one rank or of all.
struct CaseVerdict {
  std::string program;
  bool agrees = true;
  std::string text;  // one sentence if it does not agree
  Duration elapsed{0};

  friend bool operator==(const CaseVerdict&, const CaseVerdict&) = default;
};

// The verdict that all ranks share.
struct ConformanceReport {
  BackendKind backend = BackendKind::gloo;
  int world_size = 1;
  std::uint64_t seed = 1;
  std::vector<CaseVerdict> cases;

  bool holds() const noexcept;
};

// Runs `cases` on the processes of `environment`, which all call this: each simulates the whole
// world by itself, runs its own rank on real gangs that meet in `store` (a fresh root gang for each
// case, which validates calls), and compares its rank's outputs. Rank 0 gathers the verdicts
// through the store; a rank that does not answer within the longest timeout of a case and ten
// seconds disagrees. Every rank gets the same report. Where the environment has a record_folder, a
// FlightRecorder records each case there, each of several in a folder "0_ring". Blocks.
//
// Throws InvalidArgument if another rank runs other cases (program, parameters, seed) or another
// version; NotSupported if `backend` cannot run here, or cannot have such a fault.
ConformanceReport run_conformance(const std::vector<ConformanceCase>& cases, BackendKind backend,
                                  const Environment& environment,
                                  const std::shared_ptr<Store>& store);

// At most 80 columns, except for names.
std::string to_string(const ConformanceReport& report);
nlohmann::json to_json(const ConformanceReport& report);

JunitSuite to_junit(const ConformanceReport& report);

// A result for each program that does not agree, at its file if it has one.
std::vector<SarifResult> to_sarif(const ConformanceReport& report);

}  // namespace gang::harness
