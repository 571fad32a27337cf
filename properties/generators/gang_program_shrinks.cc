// Simpler variants of a gang program.
#include <algorithm>

#include "properties/generators/gang_program.h"

namespace gang::properties {
namespace {

using Programs = std::vector<GangProgram>;

void add_with_fewer_ranks(const GangProgram& program, Programs& simpler) {
  for (const int world : {1, 2, program.world / 2, program.world - 1}) {
    if (world < 1 || world >= program.world) continue;
    simpler.push_back(program);
    simpler.back().world = world;
  }
}

void add_with_fewer_steps(const GangProgram& program, Programs& simpler) {
  const std::size_t count = program.steps.size();
  if (count < 2) return;
  for (std::size_t chunk = count / 2; chunk > 0; chunk /= 2) {
    for (std::size_t first = 0; first + chunk <= count; first += chunk) {
      simpler.push_back(program);
      auto& steps = simpler.back().steps;
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(first),
                  steps.begin() + static_cast<std::ptrdiff_t>(first + chunk));
    }
  }
}

// Without node `removed`; what was on it goes to its parent.
GangProgram without_node(const GangProgram& program, int removed) {
  GangProgram without = program;
  const int parent = program.nodes[static_cast<std::size_t>(removed)].parent;
  const auto renamed = [removed, parent](int node) {
    if (node == removed) return parent;
    return node > removed ? node - 1 : node;
  };
  without.nodes.erase(without.nodes.begin() + removed);
  for (std::size_t i = 1; i < without.nodes.size(); ++i) {
    without.nodes[i].parent = renamed(without.nodes[i].parent);
  }
  for (Step& step : without.steps) step.node = renamed(step.node);
  return without;
}

void add_with_fewer_gangs(const GangProgram& program, Programs& simpler) {
  for (std::size_t i = program.nodes.size(); i-- > 1;) {
    simpler.push_back(without_node(program, static_cast<int>(i)));
  }
}

template <typename Field, typename Value>
void add_step_with(const GangProgram& program, std::size_t index, Field field, const Value& value,
                   Programs& simpler) {
  if (program.steps[index].*field == value) return;
  simpler.push_back(program);
  simpler.back().steps[index].*field = value;
}

void add_with_simpler_step(const GangProgram& program, std::size_t index, Programs& simpler) {
  const Step& step = program.steps[index];
  add_step_with(program, index, &Step::node, 0, simpler);
  add_step_with(program, index, &Step::form, Form::blocking, simpler);
  for (const int count : {0, 1, step.count / 2, step.count - 1}) {
    if (count >= 0 && count < step.count) {
      add_step_with(program, index, &Step::count, count, simpler);
    }
  }
  if (is_defined(step.reduce_operation, DataType::i32) && step.data_type != DataType::i32) {
    add_step_with(program, index, &Step::data_type, DataType::i32, simpler);
  }
  if (is_defined(ReduceOperation::sum, step.data_type)) {
    add_step_with(program, index, &Step::reduce_operation, ReduceOperation::sum, simpler);
  }
  for (const int rank : {0, 1, step.root / 2}) {
    if (rank < step.root) add_step_with(program, index, &Step::root, rank, simpler);
  }
  for (const int rank : {0, 1, step.peer / 2}) {
    if (rank < step.peer) add_step_with(program, index, &Step::peer, rank, simpler);
  }
  if (!step.in_place) add_step_with(program, index, &Step::in_place, true, simpler);
  if (step.stacked) add_step_with(program, index, &Step::stacked, false, simpler);
  if (step.uneven) add_step_with(program, index, &Step::uneven, false, simpler);
}

void add_with_shorter_list(const GangProgram& program, std::size_t node, Programs& simpler,
                           std::vector<int> GangNode::* list) {
  const std::size_t size = (program.nodes[node].*list).size();
  if (size < 2) return;
  for (std::size_t i = 0; i < size; ++i) {
    simpler.push_back(program);
    auto& shorter = simpler.back().nodes[node].*list;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void add_with_simpler_node(const GangProgram& program, std::size_t index, Programs& simpler) {
  const GangNode& node = program.nodes[index];
  if (node.making == Making::create_gang) {
    add_with_shorter_list(program, index, simpler, &GangNode::ranks);
  } else {
    add_with_shorter_list(program, index, simpler, &GangNode::colors);
    add_with_shorter_list(program, index, simpler, &GangNode::keys);
  }
  if (node.parent != 0) {
    simpler.push_back(program);
    simpler.back().nodes[index].parent = 0;
  }
}

void add_with_simpler_run(const GangProgram& program, Programs& simpler) {
  const RunChoices& run = program.run;
  const RunChoices simplest{.patience = run.patience};
  if (run == simplest) return;
  simpler.push_back(program);
  simpler.back().run = simplest;
  const auto add = [&program, &simpler](auto field, auto value) {
    if (program.run.*field == value) return;
    simpler.push_back(program);
    simpler.back().run.*field = value;
  };
  add(&RunChoices::scheduler, sim::SchedulerKind::round_robin);
  add(&RunChoices::execution, sim::ExecutionModel::independent);
  add(&RunChoices::sends, sim::SendMode::rendezvous());
  if (run.seed > 9) add(&RunChoices::seed, std::uint64_t{1});
}

}  // namespace

std::vector<GangProgram> shrinks(const GangProgram& program) {
  Programs simpler;
  add_with_fewer_ranks(program, simpler);
  add_with_fewer_steps(program, simpler);
  add_with_fewer_gangs(program, simpler);
  add_with_simpler_run(program, simpler);
  for (std::size_t i = 0; i < program.steps.size(); ++i) add_with_simpler_step(program, i, simpler);
  for (std::size_t i = 1; i < program.nodes.size(); ++i) add_with_simpler_node(program, i, simpler);
  return simpler;
}

}  // namespace gang::properties
