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

  RankState& rank(int rank) const noexcept { return ranks[static_cast<std::size_t>(rank)]; }
};

}  // namespace gang::sim
