// Everything that decides a run, as a value.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/enum_names.h"
#include "harness/backends/backend.h"
#include "sim/faults/fault_plan.h"
#include "sim/options/simulation_options.h"

namespace gang::harness {

// How the order of the ranks is chosen.
enum class ScheduleChoice : std::uint8_t {
  round_robin,
  random,
  recheck,  // random, twice, and the two runs are compared
};

inline constexpr auto schedule_choice_names =
    names_in_order<ScheduleChoice>("round_robin", "random", "recheck");
constexpr std::string_view to_string(ScheduleChoice choice) noexcept {
  return name_of(schedule_choice_names, choice);
}

// What the gangs of a program check in each operation.
enum class Verification : std::uint8_t {
  none,
  replicas,  // results that should be equal on all ranks are: ReplicaVerifyingGang
};

inline constexpr auto verification_names = names_in_order<Verification>("none", "replicas");
constexpr std::string_view to_string(Verification verification) noexcept {
  return name_of(verification_names, verification);
}

// What `run` runs and how. Copies, compares, prints and parses. The same specification and program
// give the same report, except for wall times and under ContextKind::parallel.
struct RunSpecification {
  std::string program = {};                            // a name, or the path of a .toml file
  std::optional<int> world_size = {};                  // none: the program's default
  std::map<std::string, std::string> parameters = {};  // as given: key to text
  BackendKind backend = BackendKind::sim;
  ScheduleChoice schedule = ScheduleChoice::round_robin;
  Verification verify = Verification::none;
  std::optional<sim::FaultPlan> faults = {};  // each seed draws from it; none: nothing goes wrong

  // The rest. World size, backend, scheduler, faults and recordings are set for each run.
  sim::SimulationOptions options = {};

  friend bool operator==(const RunSpecification&, const RunSpecification&) = default;
};

// One option of a run, once for the command line, scenario files and JSON alike.
struct RunOption {
  enum class Form : std::uint8_t { value, flag };

  std::string name;         // "step-limit"
  std::string value_name;   // "N"; of a flag: empty
  std::string description;  // with the default
  Form form = Form::value;

  // Sets it from a text ("true" or "false" for a flag). Throws InvalidArgument: the option, the
  // text, what it must be.
  std::function<void(RunSpecification&, std::string_view)> set;

  // The text that sets it; none if it has its default.
  std::function<std::optional<std::string>(const RunSpecification&)> text;
};

// In the order of --help.
const std::vector<RunOption>& run_options();

// Sets the option `name` ("step-limit" or "step_limit"). Throws InvalidArgument as RunOption::set,
// and for an unknown name (lists the known ones).
void set_option(RunSpecification& specification, std::string_view name, std::string_view text);

// Adds "key=value". Throws InvalidArgument if there is no '='.
void set_parameter(RunSpecification& specification, std::string_view assignment);

// The shortest command line that does the same: "gangsim run ring --world 4 --seed 7". The seed is
// always included; other options and parameters only if they differ from `baseline`, the
// specification that comes with the program (a scenario file sets options of its own). Words are
// quoted for a shell.
std::string to_command_line(const RunSpecification& specification, std::string_view binary,
                            const RunSpecification& baseline = {});

// The same for `gangsim explore`, which chooses the schedules.
std::string to_explore_line(RunSpecification specification, std::string_view binary,
                            RunSpecification baseline = {});

// What stands after the program there: " --world 4 --seed 7".
std::string options_text(const RunSpecification& specification, const RunSpecification& baseline);

// {"program": ..., "parameters": {...}, "options": {"seed": "7", ...}}, and back; from_json throws
// InvalidArgument naming the field.
nlohmann::json to_json(const RunSpecification& specification);
RunSpecification run_specification_from_json(const nlohmann::json& json);

// "ring", "'a b.toml'": as a shell needs it.
std::string shell_quoted(std::string_view word);

}  // namespace gang::harness
