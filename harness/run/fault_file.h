// Plans of faults as text: TOML, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "sim/faults/fault_plan.h"

namespace gang::harness {

// The plan that `text` stands for: a preset's name ("production"), the path of a .toml file, or
// TOML itself. A file has [[fault]] tables, or is a scenario with [faults]. Throws InvalidArgument;
// for a file with the place: "plan.toml:7: fault 2: chance is 2; must be 0 to 1".
sim::FaultPlan load_faults(std::string_view text);

// The plan in `text`, the TOML of a plan or a scenario. `path` becomes the plan's name, and is
// named in errors.
sim::FaultPlan parse_faults(std::string_view text, const std::string& path);

// A text on one line, for a command line, that parse_faults reads back, except for the name.
std::string to_toml_line(const sim::FaultPlan& plan);

// The same as the tables of a scenario:
//
//   [faults]
//   ranks_per_node = 4
//   [[faults.fault]]
//   kind = "crash"
//   ranks = [3]
//   operation = 4
//   moment = "inside"
//   notice = ["0s", "5s"]
std::string to_scenario_toml(const sim::FaultPlan& plan);

}  // namespace gang::harness
