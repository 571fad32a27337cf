#include "harness/commands/cost_options.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/options/simulation_options.h"

namespace gang::harness {
namespace {

std::int64_t steps_of(const Program& program, const RunSpecification& specification) {
  constexpr std::string_view steps = "steps";
  if (std::ranges::find(program.parameters, steps, &Parameter::name) == program.parameters.end())
    return 1;
  return ParameterValues{program.parameters, specification.parameters}.get<std::int64_t>(steps);
}

}  // namespace

void CostOptions::add_to(std::vector<Option>& options) {
  options.push_back(
      flag_option("--cost", "what a step's communication costs, by gang and operation", prints_));
  options.push_back(json_.option("the same as JSON"));
  options.push_back(number_option("--ranks-per-node", "for the cost model [8]", ranks_per_node_, 1,
                                  sim::SimulationOptions::max_world_size));
  options.push_back(text_option(
      "--intra-link", "LATENCY:BANDWIDTH",
      fmt::format("link within a node [{}]", to_string(CostModel{}.intra_node)), intra_link_));
  options.push_back(text_option(
      "--inter-link", "LATENCY:BANDWIDTH",
      fmt::format("link between nodes [{}]", to_string(CostModel{}.inter_node)), inter_link_));
}

CostModel CostOptions::model() const {
  CostModel model{.ranks_per_node = ranks_per_node_};
  if (!intra_link_.empty()) model.intra_node = parse_link_speed(intra_link_);
  if (!inter_link_.empty()) model.inter_node = parse_link_speed(inter_link_);
  return model;
}

Program CostOptions::applied_to(const Program& program) {
  const CostModel model = this->model();
  if (!are_given()) return program;
  json_.open();
  return counted(program, model);
}

void CostOptions::report(const Program& program, const RunResult& result, std::ostream& out) {
  if (!are_given()) return;
  const CostReport report = make_cost_report(program.name, steps_of(program, result.specification),
                                             model(), counts_of(result));
  if (prints_) out << '\n' << to_string(report);
  json_.write([&report] { return to_json(report).dump() + "\n"; });
}

}  // namespace gang::harness
