// Everything that decides a run, as a value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"
#include "sim/faults/fault_plan.h"
#include "sim/options/simulation_options.h"

namespace gang::harness {

// How the order of the ranks is chosen.
enum class ScheduleChoice : std::uint8_t {
  round_robin,
  random,
  recheck,  // random, twice, and the two traces are compared
};

std::string_view to_string(ScheduleChoice choice) noexcept;

// What the gangs of a program check of each operation.
enum class Verification : std::uint8_t {
  none,
  replicas,  // results that should be equal on all ranks are: ReplicaVerifyingGang
};

std::string_view to_string(Verification verification) noexcept;

// What `run` runs and how. Copies, compares, prints and parses. Same specification and same
// program: same report (but for wall time, and not under ContextKind::parallel).
struct RunSpecification {
  std::string program;                            // a name, or the path of a .toml file
  std::optional<int> world_size;                  // none: the program's default
  std::map<std::string, std::string> parameters;  // as given: key to text
  std::string backend = "sim";
  sim::ContextKind context = sim::SimulationOptions::default_context();
  ScheduleChoice schedule = ScheduleChoice::round_robin;
  std::uint64_t seed = 1;
  sim::ExecutionModel execution = sim::ExecutionModel::independent;
  sim::SendMode sends;
  sim::NcclModel nccl;                 // backend sim-nccl
  Duration timeout = default_timeout;  // of the root gang
  sim::PendingTimeouts pending_timeouts = sim::PendingTimeouts::are_deadlocks;
  std::optional<Duration> watchdog;  // none: off
  bool strict_blocking = false;
  sim::DeadlockSearch deadlock_search = sim::DeadlockSearch::at_rest;
  std::optional<std::uint64_t> step_limit;
  Verification verify = Verification::none;
  std::optional<sim::FaultPlan> faults;  // drawn anew by each seed; none: nothing goes wrong

  friend bool operator==(const RunSpecification&, const RunSpecification&) = default;
};

// One option of a run, once for the command line, scenario files and JSON alike.
struct RunOption {
  enum class Form : std::uint8_t { value, flag };

  std::string name;         // "step-limit"
  std::string value_name;   // "N"; of a flag: empty
  std::string description;  // with the default
  Form form = Form::value;

  // Sets it from a text ("true" or "false" for a flag). Throws InvalidArgument: option, text,
  // accepted.
  std::function<void(RunSpecification&, std::string_view)> set;

  // The text that sets it; none where it has its default.
  std::function<std::optional<std::string>(const RunSpecification&)> text;
};

// In the order of --help.
const std::vector<RunOption>& run_options();

// Sets the option `name` ("step-limit" or "step_limit"). Throws InvalidArgument as RunOption::set,
// and for an unknown name (lists the known ones).
void set_option(RunSpecification& specification, std::string_view name, std::string_view text);

// Adds "key=value". Throws InvalidArgument where there is no '='.
void set_parameter(RunSpecification& specification, std::string_view assignment);

// The shortest command line that does the same: "gangsim run ring --world 4 --seed 7". The seed is
// always said; other options and parameters only where they differ from `baseline`, which is what
// the program comes with (a scenario file sets options of its own). Words are quoted for a shell.
std::string to_command_line(const RunSpecification& specification, std::string_view binary,
                            const RunSpecification& baseline = {});

// {"program": ..., "parameters": {...}, "options": {"seed": "7", ...}}, and back; from_json throws
// InvalidArgument naming the field.
nlohmann::json to_json(const RunSpecification& specification);
RunSpecification run_specification_from_json(const nlohmann::json& json);

// "ring", "'a b.toml'": as a shell needs it.
std::string shell_quoted(std::string_view word);

}  // namespace gang::harness
