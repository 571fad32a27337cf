// Simpler variants of a gang program.
#include "properties/generators/gang_program.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using SimplerPrograms = SimplerCases<GangProgram>;

void add_with_fewer_ranks(const GangProgram& program, SimplerPrograms& simpler) {
  for (const int world : {1, 2, program.world / 2, program.world - 1})
    if (world >= 1) simpler.lower(&GangProgram::world, world);
}

void add_with_fewer_steps(const GangProgram& program, SimplerPrograms& simpler) {
  const auto count = static_cast<std::ptrdiff_t>(program.steps.size());
  for (std::ptrdiff_t chunk = count / 2; chunk > 0; chunk /= 2) {
    for (std::ptrdiff_t first = 0; first + chunk <= count; first += chunk) {
      simpler.add([first, chunk](GangProgram& one) {
        one.steps.erase(one.steps.begin() + first, one.steps.begin() + first + chunk);
      });
    }
  }
}

// Without node `removed`; what was on it goes to its parent.
void remove_node(GangProgram& program, int removed) {
  const int parent = program.nodes[static_cast<std::size_t>(removed)].parent;
  const auto renamed = [removed, parent](int node) {
    if (node == removed) return parent;
    return node > removed ? node - 1 : node;
  };
  program.nodes.erase(program.nodes.begin() + removed);
  for (std::size_t i = 1; i < program.nodes.size(); ++i)
    program.nodes[i].parent = renamed(program.nodes[i].parent);
  for (Step& step : program.steps) step.node = renamed(step.node);
}

void add_with_fewer_gangs(const GangProgram& program, SimplerPrograms& simpler) {
  for (int node = static_cast<int>(program.nodes.size()) - 1; node > 0; --node)
    simpler.add([node](GangProgram& one) { remove_node(one, node); });
}

void add_with_simpler_step(const GangProgram& program, std::size_t index,
                           SimplerPrograms& simpler) {
  const Step& step = program.steps[index];
  const auto set = [index, &simpler](auto field, auto value) {
    simpler.add([&](GangProgram& one) { one.steps[index].*field = value; });
  };
  set(&Step::node, 0);
  set(&Step::form, Form::blocking);
  for (const int count : {0, 1, step.count / 2, step.count - 1})
    if (count >= 0 && count < step.count) set(&Step::count, count);
  if (is_defined(step.reduce_operation, DataType::i32)) set(&Step::data_type, DataType::i32);
  if (is_defined(ReduceOperation::sum, step.data_type))
    set(&Step::reduce_operation, ReduceOperation::sum);
  for (const auto field : {&Step::root, &Step::peer})
    for (const int rank : {0, 1, step.*field / 2})
      if (rank < step.*field) set(field, rank);
  set(&Step::in_place, true);
  set(&Step::stacked, false);
  set(&Step::uneven, false);
}

void add_with_simpler_node(const GangProgram& program, std::size_t index,
                           SimplerPrograms& simpler) {
  const auto drop_each = [index, &simpler](std::vector<int> GangNode::* list) {
    simpler.drop_each([index, list](GangProgram& one) -> auto& { return one.nodes[index].*list; },
                      1);
  };
  if (program.nodes[index].making == Making::create_gang) {
    drop_each(&GangNode::ranks);
  } else {
    drop_each(&GangNode::colors);
    drop_each(&GangNode::keys);
  }
  simpler.add([index](GangProgram& one) { one.nodes[index].parent = 0; });
}

void add_with_simpler_run(const GangProgram& program, SimplerPrograms& simpler) {
  const auto set = [&simpler](auto field, auto value) {
    simpler.add([&](GangProgram& one) { one.run.*field = value; });
  };
  const RunChoices simplest{.patience = program.run.patience};
  if (program.run == simplest) return;
  simpler.add([&simplest](GangProgram& one) { one.run = simplest; });
  set(&RunChoices::scheduler, simplest.scheduler);
  set(&RunChoices::execution, simplest.execution);
  set(&RunChoices::sends, simplest.sends);
  if (program.run.seed > 9) set(&RunChoices::seed, simplest.seed);
}

}  // namespace

std::vector<GangProgram> shrinks(const GangProgram& program) {
  SimplerPrograms simpler(program);
  add_with_fewer_ranks(program, simpler);
  add_with_fewer_steps(program, simpler);
  add_with_fewer_gangs(program, simpler);
  add_with_simpler_run(program, simpler);
  for (std::size_t i = 0; i < program.steps.size(); ++i) add_with_simpler_step(program, i, simpler);
  for (std::size_t i = 1; i < program.nodes.size(); ++i) add_with_simpler_node(program, i, simpler);
  return simpler.take();
}

}  // namespace gang::properties
