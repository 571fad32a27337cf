// A program on one rank, in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gang/duration.h"
#include "gang/gang.h"
#include "gang/runtime.h"
#include "harness/backend.h"
#include "harness/program.h"
#include "harness/rank_log.h"
#include "harness/rank_outcome.h"

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
};

// Runs the program on the gang that `join` makes, which meets the other ranks, and closes it.
// Whatever is thrown is the failure of the outcome; operations are not counted.
RankOutcome run_rank(const RankTask& task, const std::function<std::shared_ptr<Gang>()>& join);

// Runs `body(rank)` for every rank of the launch in a process of its own (run_processes): once one
// has ended, the others have the timeout of the launch and `slack`. A process that does not come
// to its end is a failure without a kind.
std::vector<RankOutcome> run_rank_processes(const Launch& launch, Duration slack,
                                            const std::function<RankOutcome(int rank)>& body);

}  // namespace gang::harness
