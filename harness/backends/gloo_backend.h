// The backend gloo: a process per rank, made by this one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/backends/backend.h"
#include "harness/backends/process_fault.h"
#include "harness/backends/rank_outcome.h"

namespace gang::harness {

// Runs the program on every rank in a process of its own, over Gloo on the loopback device, and
// validates every call (ValidatingGang): calls that do not match are an error at once. Ranks that
// wait in vain end after `options.timeout`. Records the ranks' outputs in this process.
// Throws NotSupported if gloo is not built.
sim::Report run_on_gloo(const Launch& launch);

enum class CallValidation : std::uint8_t { on, off };

// How to run processes whose outcomes are examined one by one.
struct GlooProcessOptions {
  std::span<const ProcessFault> faults = {};  // of the processes
  CallValidation validation = CallValidation::on;
};

// The same processes, and the outcome of each rank. A failure without a kind did not come from a
// gang: it is the program's own, or the process did not reach its end.
std::vector<RankOutcome> run_gloo_processes(const Launch& launch,
                                            const GlooProcessOptions& options);

}  // namespace gang::harness
