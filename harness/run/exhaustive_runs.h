// One run of each class of equivalent schedules.
#pragma once

#include <functional>
#include <string>

#include "harness/run/exploration.h"

namespace gang::harness {

// Whether exhaustive runs of this specification could show anything: they know no faults, and no
// backend but sim.
bool can_be_exhaustive(const RunSpecification& specification) noexcept;

// Runs `program` until a run fails, every class has been seen, or `may_go_on` says no; adds to
// `exploration`. The claim stays `sampled` unless a failure is found or everything has been seen.
// The failure keeps its schedule. A result that depends on which message a receive from any source
// takes is a failure, with the finding message_race.
void run_exhaustively(const Program& program, const RunSpecification& specification,
                      const std::function<bool()>& may_go_on, Exploration& exploration);

// "receive from any source on rank 0 (pump.cc:31): rank 2's message (ahead.cc:12), not rank 1's
// (ahead.cc:9)".
std::string to_text(const sim::Contest& contest);

}  // namespace gang::harness
