#include "harness/commands/cost_options.h"

#include <algorithm>
#include <ostream>

#include <CLI/CLI.hpp>
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

void CostOptions::add_to(CLI::App& app) {
  app.add_flag("--cost", prints_, "what a step's communication costs, by gang and operation");
  app.add_option("--cost-json", json_path_, "the same as JSON")->type_name("FILE");
  app.add_option("--ranks-per-node", ranks_per_node_, "of the cost's model [8]")
      ->type_name("N")
      ->check(CLI::Range{1, sim::SimulationOptions::max_world_size});
  app.add_option("--intra-link", intra_link_,
                 fmt::format("within a node [{}]", to_string(CostModel{}.intra_node)))
      ->type_name("LATENCY:BANDWIDTH");
  app.add_option("--inter-link", inter_link_,
                 fmt::format("between nodes [{}]", to_string(CostModel{}.inter_node)))
      ->type_name("LATENCY:BANDWIDTH");
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
  if (!json_path_.empty()) json_.emplace("--cost-json", json_path_);
  return counted(program, model);
}

void CostOptions::report(const Program& program, const RunResult& result, std::ostream& out) {
  if (!are_given()) return;
  const CostReport report = make_cost_report(program.name, steps_of(program, result.specification),
                                             model(), counts_of(result));
  if (prints_) out << '\n' << to_string(report);
  if (json_) json_->commit(to_json(report).dump() + "\n");
}

}  // namespace gang::harness
