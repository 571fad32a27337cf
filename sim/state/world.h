// The parts of one run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/rank_state.h"

namespace gang {
class Runtime;
}

namespace gang::sim {

class Awaiting;
class Diagnosis;
class Engine;
class FindingLog;
class ForeignGangs;
class Interference;
class Matching;
class NamedGangs;
class ReductionPool;
class TraceRecorder;
struct Counts;
struct GangState;
struct SimulationOptions;

// Of a run under stream order: together, these make its course depend on when operations leave
// their streams, which explorations do not choose.
struct StreamHazards {
  bool has_operation_behind = false;  // launched behind others that may have ended by then or not
  bool has_message_behind = false;    // the same, a send or a receive
  bool has_receive_from_any = false;
  bool has_look = false;   // at whether an operation has ended
  bool has_break = false;  // of a gang

  bool decide() const noexcept {
    return (has_message_behind && has_receive_from_any) ||
           (has_operation_behind && (has_look || has_break));
  }
};

// State that the gangs of one run share, for code that needs several parts of it. Made by Run,
// which owns the parts; accessed under the engine's Guard.
struct World {
  const SimulationOptions& options;
  Engine& engine;
  std::span<RankState> ranks;
  Counts& counts;
  FindingLog& findings;
  TraceRecorder& recorder;
  Matching& matching;
  Diagnosis& diagnosis;
  NamedGangs& named_gangs;
  Awaiting& awaiting;
  Runtime& runtime;  // of programs
  ReductionPool& reduction_pool;
  std::uint64_t number;                   // of the run: no other one of this process has the same
  Interference* interference = nullptr;   // null: the run has no fault plan
  ForeignGangs* foreign_gangs = nullptr;  // null: the gangs are SimGangs
  Runtime* gangs_runtime = nullptr;       // of foreign gangs; null: there are none
  std::shared_ptr<GangState> root = {};
  std::vector<CrossedCalls> crossed_calls = {};
  StreamHazards streams = {};

  RankState& rank(int rank) const noexcept { return ranks[static_cast<std::size_t>(rank)]; }
};

}  // namespace gang::sim
