// A plan of faults in a table of TOML that has been parsed.
#pragma once

#include <string>

#include <toml++/toml.h>

#include "sim/faults/fault_plan.h"

namespace gang::harness {

// The plan that `table` of the file at `path` holds; it keeps the file's lines for later errors.
// Throws InvalidArgument with the place. Implemented in fault_file.cc.
sim::FaultPlan faults_of(const toml::table& table, const std::string& path);

}  // namespace gang::harness
