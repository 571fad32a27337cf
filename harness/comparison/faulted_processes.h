// Real processes with faults: does every rank end with a right result or a typed error, in time?
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"
#include "harness/backends/process_fault.h"
#include "harness/backends/rank_outcome.h"
#include "harness/program/program.h"
#include "harness/run/run_specification.h"
#include "harness/run/shard.h"

namespace gang::harness {

inline constexpr std::string_view faulted_processes_format = "gangsim faulted processes";
inline constexpr int faulted_processes_version = 1;

// Which faults, case by case.
struct ProcessFaultCases {
  // The faults of a case, and those that processes cannot have: by kind and reason.
  struct Drawn {
    std::vector<ProcessFault> faults;
    std::map<std::string, int> left_out = {};
  };
  // The faults of case `index`. The same arguments give the same faults.
  using Draw = std::function<Drawn(const FaultSpace&, std::uint64_t seed, std::uint64_t index)>;
  std::string name;  // "kill"
  Draw draw;
  std::uint64_t first = 0;
  std::uint64_t count = 50;
};

// One fault of the kind called `text` in each case; or the plan that it stands for (load_faults),
// drawn again for each case. Throws InvalidArgument that lists kinds and plans.
ProcessFaultCases::Draw process_faults_called(const std::string& text);

// The outcome of one case.
struct FaultedCase {
  std::uint64_t index = 0;
  std::vector<std::string> faults;      // in words
  std::map<std::string, int> left_out;  // that processes cannot have, by kind and reason
  std::size_t fired = 0;                // of the faults
  std::map<std::string, int> ends;      // of the survivors: "right result", "peer_failed", ...
  Duration slowest{0};                  // error, from the beginning of its operation
  std::string slowest_error;            // that error
  std::vector<std::string> problems;    // one sentence each; none: the fault was contained
};

struct FaultedProcessesReport {
  std::string program;
  int world_size = 1;
  std::uint64_t seed = 1;
  Duration timeout{0};
  std::string faults;
  std::optional<std::string>
      clean_failure;  // if the program fails without any fault: then no case was run
  std::vector<FaultedCase> cases;
  std::string reproduce;            // of the first case that was not contained, else of all
  std::uint64_t planned_cases = 0;  // of all shards
  Shard shard = {};                 // whose cases these are

  bool holds() const noexcept;
};

// What is wrong with the outcome of `rank`, whose outputs without faults are `expected`: it hung,
// its error has no kind or a false one or came more than a second after the timeout, or an output
// is wrong. None if it is right, or a fault's victim. Delays do not justify any error.
std::optional<std::string> problem_of(int rank, const RankOutcome& outcome,
                                      const std::vector<Output>& expected,
                                      std::span<const ProcessFault> faults, Duration timeout);

// Runs `program` on Gloo once without faults and then once per case, each time on
// `specification.world_size` new processes, every second time on gangs that validate. Blocks;
// `progress` gets each case when it has ended. Throws InvalidArgument for a specification that the
// program does not accept, NotSupported if gloo is not built.
FaultedProcessesReport run_faulted_processes(
    const Program& program, const RunSpecification& specification, const ProcessFaultCases& cases,
    const std::function<void(const FaultedCase&)>& progress);

// At most 80 columns, except for names.
std::string to_string(const FaultedProcessesReport& report);
nlohmann::json to_json(const FaultedProcessesReport& report);

}  // namespace gang::harness
