// Worlds of ranks that each make calls of their own, right or wrong together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/law.h"
#include "sim/faults/fault_plan.h"
#include "sim/simulation.h"

namespace gang::properties {

enum class ScriptedKind : std::uint8_t {
  barrier,         // on all ranks
  reduction,       // on the rank's pair, (0,1), (2,3), ..., of `count` elements
  two_reductions,  // started: on the pair, then on all ranks
  two_threads,     // the same, but blocking: the one on the pair by a thread
  one_gang,        // two barriers: on `peer`, one of them by a thread
  send,            // to `peer`, with `tag`, of `count` elements
  receive,         // from `peer`
  receive_any,     // from any rank, with `tag`
  test_receive,    // from `peer`, started, tested once, then waited for
  try_receive,     // the same, tested up to 3 times; of 2 elements: with yields in between
  wait_any,        // receives from `peer` and from the next rank; waits for either, then for both
  timed_wait,      // a receive from `peer`, waited for for 2 ms, then without limit
  sleep,           // for `count` ms
  broken_barrier,  // aborts the pair
  shrink           // shrinks the world and makes a barrier of those who are left
};

struct ScriptedCall {
  ScriptedKind kind = ScriptedKind::barrier;
  int peer = 0;  // modulo the world
  int tag = 0;
  int count = 1;

  friend bool operator==(const ScriptedCall&, const ScriptedCall&) = default;
};

// Most such worlds deadlock, mismatch or fail. A rank ends with its first error, or goes on.
struct ScriptCase {
  std::vector<std::vector<ScriptedCall>> calls;  // by rank; two or more ranks
  bool handles_errors = false;
  // Whether ranks make one more barrier or not, depending on what they saw that may depend on the
  // schedule: sources, results of tests.
  bool ends_by_what_it_saw = false;
  std::vector<sim::Fault> faults = {};  // drawn
  sim::SimulatedBackend backend = sim::SimulatedBackend::sim;
  sim::LaunchOrder order = sim::LaunchOrder::host;
  sim::SendMode sends = sim::SendMode::rendezvous();

  friend bool operator==(const ScriptCase&, const ScriptCase&) = default;
};

ScriptCase generate_script(Draw& draw);

// Messages that are all sent and received, in an order in which that works; but receivers may have
// a choice, and what they see decides what follows. Most such worlds deadlock at the end.
ScriptCase generate_choices(Draw& draw);

// The same with a fault of one rank, of a kind that an exploration covers; some ranks shrink the
// world once they have made their calls.
ScriptCase generate_faulty_choices(Draw& draw);

// Choices on Gloo or NCCL, as far as they are explored there: without tests and timed waits, and on
// NCCL without receives from any source; with started reductions and threads.
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
