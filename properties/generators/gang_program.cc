#include "properties/generators/gang_program.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace gang::properties {
namespace {

// What the steps of a random program may do: everything but make gangs, which its nodes do.
constexpr auto program_kinds = [] {
  using enum OperationKind;
  return std::array{
      all_reduce, reduce,    reduce_scatter,    all_gather, all_gather_to_list, gather, scatter,
      all_to_all, broadcast, broadcast_objects, barrier,    monitored_barrier,  send,   recv,
      batch,      scan,      exclusive_scan};
}();

ReduceOperation generate_reduce_operation(Draw& draw, OperationKind kind, DataType type) {
  while (true) {
    const ReduceOperation operation = draw.any_of(all_reduce_operations);
    if (is_scan(kind) && operation == ReduceOperation::mean) continue;
    if (is_defined(operation, type)) return operation;
  }
}

std::vector<int> generate_ranks(Draw& draw, int world) {
  std::vector<int> ranks(static_cast<std::size_t>(world));
  std::iota(ranks.begin(), ranks.end(), 0);
  const int count = draw.between(1, world);
  for (int i = 0; i < count; ++i) std::swap(ranks[i], ranks[draw.between(i, world - 1)]);
  ranks.resize(static_cast<std::size_t>(count));
  if (draw.one_in(2)) std::sort(ranks.begin(), ranks.end());
  return ranks;
}

using MemberLists = std::vector<std::vector<int>>;

void add_created(const GangNode& node, const std::vector<int>& parent, MemberLists& gangs) {
  std::vector<int> members;
  for (const int rank : node.ranks)
    if (rank < static_cast<int>(parent.size())) members.push_back(parent[rank]);
  if (members.empty()) members.push_back(parent.front());
  gangs.push_back(std::move(members));
}

void add_split(const GangNode& node, const std::vector<int>& parent, MemberLists& gangs) {
  struct Member {
    int color;
    int key;
    int root_rank;
  };
  std::vector<Member> members;
  for (std::size_t rank = 0; rank < parent.size(); ++rank) {
    const int color = node.colors[rank % node.colors.size()];
    if (color >= 0) members.push_back({color, node.keys[rank % node.keys.size()], parent[rank]});
  }
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.color != b.color ? a.color < b.color : a.key < b.key;
  });
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i == 0 || members[i].color != members[i - 1].color) gangs.emplace_back();
    gangs.back().push_back(members[i].root_rank);
  }
}

}  // namespace

GangNode generate_node(Draw& draw, int nodes_before, int world) {
  GangNode node;
  node.parent = draw.between(0, nodes_before - 1);
  if (draw.one_in(3)) {
    node.making = Making::create_gang;
    node.ranks = generate_ranks(draw, world);
    return node;
  }
  node.making = Making::split;
  node.colors.resize(static_cast<std::size_t>(draw.between(1, 4)));
  for (int& color : node.colors) color = draw.one_in(8) ? -1 : draw.between(0, 2);
  node.keys.resize(static_cast<std::size_t>(draw.between(1, 3)));
  for (int& key : node.keys) key = draw.between(-1, 1);
  return node;
}

Step generate_step(Draw& draw, OperationKind kind, int most_elements) {
  Step step;
  step.kind = kind;
  step.data_type = draw.any_of(all_data_types);
  step.reduce_operation = generate_reduce_operation(draw, kind, step.data_type);
  step.form = static_cast<Form>(draw.between(0, 3));
  step.count = draw.between(0, most_elements);
  step.root = draw.between(0, draw.max_world - 1);
  step.peer = draw.between(0, draw.max_world - 1);
  step.in_place = draw.one_in(2);
  step.stacked = draw.one_in(2);
  step.uneven = draw.one_in(2);
  return step;
}

RunChoices generate_run_choices(Draw& draw) {
  RunChoices run;
  run.scheduler = draw.one_in(2) ? sim::SchedulerKind::round_robin : sim::SchedulerKind::random;
  run.seed = draw.random.below(1000);
  run.execution =
      draw.one_in(4) ? sim::ExecutionModel::stream_ordered : sim::ExecutionModel::independent;
  if (draw.one_in(3)) run.sends = sim::SendMode::buffered(draw.random.below(64));
  return run;
}

GangProgram generate_program(Draw& draw, const ProgramShape& shape) {
  GangProgram program;
  program.world = draw.world(std::min(shape.fewest_ranks, draw.max_world));
  const int nodes = draw.between(1, shape.most_gangs);
  for (int i = 1; i < nodes; ++i) program.nodes.push_back(generate_node(draw, i, program.world));
  const int most_steps = shape.most_steps * (20 + draw.size) / 120;
  const int steps = draw.between(shape.fewest_steps, std::max(shape.fewest_steps, most_steps));
  for (int i = 0; i < steps; ++i) {
    const OperationKind kind =
        shape.kinds.empty() ? draw.any_of(program_kinds) : draw.any_of(shape.kinds);
    program.steps.push_back(generate_step(draw, kind, shape.most_elements));
    program.steps.back().node = draw.between(0, nodes - 1);
  }
  if (!shape.only_round_robin) program.run = generate_run_choices(draw);
  return program;
}

sim::SimulationOptions options_of(const GangProgram& program) {
  sim::SimulationOptions options;
  options.world_size = program.world;
  options.scheduler = program.run.scheduler;
  options.seed = program.run.seed;
  options.execution = program.run.execution;
  options.sends = program.run.sends;
  return options;
}

int id_of(const GangProgram& program, std::size_t index) {
  const int id = program.steps[index].id;
  return id < 0 ? static_cast<int>(index) : id;
}

Membership members_of(const GangProgram& program) {
  Membership members(program.nodes.size());
  members[0].resize(1);
  members[0][0].resize(static_cast<std::size_t>(program.world));
  std::iota(members[0][0].begin(), members[0][0].end(), 0);
  for (std::size_t i = 1; i < program.nodes.size(); ++i) {
    const GangNode& node = program.nodes[i];
    for (const std::vector<int>& parent : members[static_cast<std::size_t>(node.parent)])
      (node.making == Making::split ? add_split : add_created)(node, parent, members[i]);
  }
  return members;
}

const std::vector<int>* find_gang(const std::vector<std::vector<int>>& gangs, int root_rank) {
  for (const std::vector<int>& gang : gangs)
    if (std::ranges::find(gang, root_rank) != gang.end()) return &gang;
  return nullptr;
}

}  // namespace gang::properties
