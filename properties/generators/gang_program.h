// Random gang programs, as values: a tree of gangs and a list of steps on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/data_type.h"
#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "properties/law.h"
#include "sim/options/simulation_options.h"

namespace gang::properties {

enum class Making : std::uint8_t { root, create_gang, split };

// How the gangs of a node are made from those of its parent. Every gang of the parent makes its own
// children, so that a node is a set of disjoint gangs (the lines of an axis, say). Any lists make
// sense for a parent of any size, which keeps every shrunk program valid.
struct GangNode {
  Making making = Making::root;
  int parent = 0;           // index of an earlier node
  std::vector<int> ranks;   // create_gang: those below the parent's size; rank 0 if none is
  std::vector<int> colors;  // split: of parent rank r, colors[r % size]
  std::vector<int> keys;    // split: of parent rank r, keys[r % size]

  friend bool operator==(const GangNode&, const GangNode&) = default;
};

// How a step is called and completed.
enum class Form : std::uint8_t {
  blocking,
  start_wait,   // started and waited for at once
  start_test,   // started and polled
  start_later,  // started, and waited for after the next step
  // Only a mistaken rank does these.
  drop_work,     // started, its Work dropped
  touch_buffer,  // started, its buffer written, then waited for
};

// One operation that every member of the node's gangs performs. Ranks are taken modulo the gang's
// size.
struct Step {
  int node = 0;
  OperationKind kind = OperationKind::barrier;
  DataType data_type = DataType::i32;
  ReduceOperation reduce_operation = ReduceOperation::sum;
  Form form = Form::blocking;
  int count = 1;          // elements of a chunk, >= 0
  int root = 0;           // if the operation has one; source of a send; receiver of a fan-in
  int peer = 1;           // destination of a send; distance of a batch's ring
  bool in_place = false;  // all_reduce, reduce, scans
  bool stacked = false;   // [size, count] instead of the concatenation along dimension 0
  bool uneven = false;    // all_to_all with split sizes, all_gather with counts
  int id = -1;            // of its inputs, tags and call sites; -1: its index
  int tag = -1;           // of its messages; -1: its id

  friend bool operator==(const Step&, const Step&) = default;
};

// What a simulated run of a program depends on besides the program.
struct RunChoices {
  sim::SchedulerKind scheduler = sim::SchedulerKind::round_robin;
  std::uint64_t seed = 1;
  sim::ExecutionModel execution = sim::ExecutionModel::independent;
  sim::SendMode sends;
  Duration patience = std::chrono::minutes(1);  // of monitored barriers

  friend bool operator==(const RunChoices&, const RunChoices&) = default;
};

// Every rank runs the steps in order on the gangs that it is in: no such program can deadlock, and
// its results follow from the inputs alone.
//
// send is one message from `root` to `peer`; batch is a ring (every rank sends to the rank `peer`
// places after it and receives from the one `peer` places before it); recv is a fan-in: every other
// rank sends to `root`, which receives from any source.
struct GangProgram {
  int world = 1;
  std::vector<GangNode> nodes{GangNode{}};  // the first is the root
  std::vector<Step> steps = {};
  RunChoices run;

  friend bool operator==(const GangProgram&, const GangProgram&) = default;
};

// What is drawn.
struct ProgramShape {
  int fewest_ranks = 1;
  int most_gangs = 4;  // nodes
  int fewest_steps = 1;
  int most_steps = 12;
  int most_elements = 8;                  // of a chunk
  std::vector<OperationKind> kinds = {};  // empty: all that carry data, and barriers
  bool only_round_robin = false;
};

GangProgram generate_program(Draw& draw, const ProgramShape& shape = {});
Step generate_step(Draw& draw, OperationKind kind, int most_elements);
GangNode generate_node(Draw& draw, int nodes_before, int world);
RunChoices generate_run_choices(Draw& draw);

sim::SimulationOptions options_of(const GangProgram& program);

// The id of the step at `index`. Its call site is "step:ID".
int id_of(const GangProgram& program, std::size_t index);

// Root ranks of every gang of every node, in rank order: members[node][gang][rank].
using Membership = std::vector<std::vector<std::vector<int>>>;
Membership members_of(const GangProgram& program);

// The gang that holds the rank; null if none does.
const std::vector<int>* find_gang(const std::vector<std::vector<int>>& gangs, int root_rank);

std::string to_text(const GangProgram& program);
std::string to_text(const GangNode& node);
std::string to_text(const Step& step);
std::vector<GangProgram> shrinks(const GangProgram& program);

}  // namespace gang::properties
