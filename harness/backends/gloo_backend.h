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
// validates every call (ValidatingGang): calls that do not match are told, not waited for. Ranks
// that wait in vain end after `options.timeout`. What the ranks put out is recorded here.
// Throws NotSupported where gloo is not built.
sim::Report run_on_gloo(const Launch& launch);

enum class CallValidation : std::uint8_t { on, off };

// How processes are run whose ends are looked at one by one.
struct GlooProcessOptions {
  std::span<const ProcessFault> faults = {};  // that befall them
  CallValidation validation = CallValidation::on;
};

// The same processes: what became of each rank. A failure without a kind is none of a gang's: the
// program's own, or its process has not come to its end.
std::vector<RankOutcome> run_gloo_processes(const Launch& launch,
                                            const GlooProcessOptions& options);

}  // namespace gang::harness
