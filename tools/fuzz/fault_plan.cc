// A plan of faults as TOML, or as the JSON of a saved run.

#include "sim/faults/fault_plan.h"

#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/run/fault_file.h"
#include "harness/run/run_file.h"
#include "sim/faults/fault_plan_json.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

sim::FaultPlan read(std::string_view text) {
  if (!text.starts_with('{')) return harness::parse_faults(text, "");
  return sim::fault_plan_from_json(harness::parse_json(text));
}

void check(sim::FaultPlan plan) {
  plan.name.clear();
  sim::FaultPlan of_line = harness::parse_faults(harness::to_toml_line(plan), "");
  require(of_line == plan, "a plan is read back from its line");
  sim::FaultPlan of_tables = harness::parse_faults(harness::to_scenario_toml(plan), "");
  require(of_tables == plan, "a plan is read back from its tables");
  sim::FaultPlan of_json = sim::fault_plan_from_json(sim::to_json(plan));
  require(of_json == plan, "a plan is read back from JSON");
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gang::sim::FaultPlan plan;
  try {
    plan = gang::fuzz::read(gang::fuzz::Input(data, size).rest_text());
  } catch (const gang::InvalidArgument&) {
    return 0;
  }
  gang::fuzz::check(plan);
  return 0;
}
