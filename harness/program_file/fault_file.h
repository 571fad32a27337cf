// Plans of faults as text: TOML, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "sim/faults/fault_plan.h"

namespace gang::harness {

// The plan that `text` stands for: a preset's name ("production"), the path of a .toml file, or
// TOML itself. A file has [[fault]] tables, or is a scenario with [faults]. Throws InvalidArgument,
// of a file with its place: "plan.toml:7: fault 2: chance is 2; accepted: 0 to 1".
sim::FaultPlan load_faults(std::string_view text);

// The plan in TOML `text`, which may be a whole plan or a scenario; `path` is for errors and the
// plan's name.
sim::FaultPlan parse_faults(std::string_view text, const std::string& path);

// A text that parse_faults gives back, but for its name.
//
//   ranks_per_node = 4
//   [[fault]]
//   kind = "crash"
//   ranks = [3]
//   operation = 4
//   moment = "inside"
//   notice = ["0s", "5s"]
std::string to_toml(const sim::FaultPlan& plan);

// The same on one line, for a command line; and as the tables of a scenario, "[[faults.fault]]".
std::string to_toml_line(const sim::FaultPlan& plan);
std::string to_scenario_toml(const sim::FaultPlan& plan);

// `plan` is no plan for so many ranks: throws InvalidArgument, with the place where it has a file.
void check_faults(const sim::FaultPlan& plan, int world_size);

}  // namespace gang::harness
