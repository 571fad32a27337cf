// Worlds of ranks that each make calls of their own, right or wrong together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/generators/scripted_call.h"
#include "properties/law.h"
#include "sim/faults/fault_plan.h"
#include "sim/simulation.h"

namespace gang::properties {

// Most such worlds deadlock, mismatch or fail. A rank ends with its first error, or goes on.
struct ScriptCase {
  std::vector<std::vector<ScriptedCall>> calls;  // by rank; two or more ranks
  bool handles_errors = false;
  // Whether ranks make one more barrier or not, depending on what they saw that may depend on the
  // schedule: sources, results of tests. On Gloo and NCCL, they sleep for so many hours instead:
  // what a rank that waits for others in vain comes to is not explored there.
  bool ends_by_what_it_saw = false;
  std::vector<sim::Fault> faults = {};  // drawn
  sim::SimulatedBackend backend = sim::SimulatedBackend::sim;
  sim::LaunchOrder order = sim::LaunchOrder::host;
  sim::HostLaunch launch = sim::HostLaunch::asynchronous;
  sim::SendMode sends = sim::SendMode::rendezvous();
  sim::ExecutionModel execution = sim::ExecutionModel::independent;

  friend bool operator==(const ScriptCase&, const ScriptCase&) = default;
};

ScriptCase generate_script(Draw& draw);

// Messages that are all sent and received, in an order in which that works; but receivers may have
// a choice, and what they see decides what follows. Most such worlds deadlock at the end.
ScriptCase generate_choices(Draw& draw);

// The same with a fault of one rank, of a kind that an exploration covers; some ranks shrink the
// world once they have made their calls.
ScriptCase generate_faulty_choices(Draw& draw);

// Choices on Gloo or NCCL, as far as they are explored there, with started reductions and threads;
// without monitored barriers and two threads on one gang, and on NCCL without receives from any
// source.
ScriptCase generate_choices_elsewhere(Draw& draw);

// Messages that are all sent and all received, but by each rank in an order of its own: most such
// worlds deadlock, and complete with buffers.
ScriptCase generate_shuffled_messages(Draw& draw);

// A world of its size, otherwise by default.
sim::SimulationOptions options_of(const ScriptCase& script);

// The program of every rank. The case must outlive it.
sim::RankProgram program_of(const ScriptCase& script);

std::string to_text(const ScriptCase& script);
std::vector<ScriptCase> shrinks(const ScriptCase& script);

}  // namespace gang::properties
