// A program on one rank, in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gang/duration.h"
#include "gang/gang.h"
#include "gang/runtime.h"
#include "harness/backends/backend.h"
#include "harness/backends/launcher.h"
#include "harness/backends/rank_outcome.h"
#include "harness/program/program.h"
#include "harness/program/rank_log.h"

namespace gang::harness {

// What one rank runs; all of it outlives the run.
struct RankTask {
  const Program& program;
  const ParameterValues& parameters;
  Runtime& runtime;
  int rank = 0;
  int world_size = 1;
  std::uint64_t seed = 1;
  const RankLog* log = nullptr;
  int incarnation = 0;
};

// Runs the program on the gang that `join` makes, which meets the other ranks, and closes it. An
// exception is the failure of the outcome; operations are not counted.
RankOutcome run_rank(const RankTask& task, const std::function<std::shared_ptr<Gang>()>& join);

// Runs `body(rank)` for every rank of the launch in a process of its own (run_processes): once one
// has ended, the others have the timeout of the launch and `slack`. A process that does not reach
// its end is a failure without a kind.
std::vector<RankOutcome> run_rank_processes(const Launch& launch, Duration slack,
                                            const std::function<RankOutcome(int rank)>& body);

// The limits of a rank's processes, and when it is restarted, if ever.
struct Incarnations {
  ProcessLimits limits = {};           // of each process
  std::optional<Duration> pause = {};  // before a restart; none: no restart
};

// Runs `body(0)` in a process of its own; if that is killed and is to be restarted, `body(1)` in
// another one after the pause, whose outcome then counts. Blocks.
RankOutcome run_incarnations(const Incarnations& incarnations,
                             const std::function<RankOutcome(int incarnation)>& body);

}  // namespace gang::harness
