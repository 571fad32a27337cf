// One run of each class of equivalent schedules.
#pragma once

#include <functional>
#include <string>

#include "harness/run/exploration.h"

namespace gang::harness {

// Why exhaustive runs of this specification would show nothing: "--context parallel cannot be led
// along a schedule"; empty if they may. Faults can be explored whose every way to come about can be
// listed (sim::FaultCases); on other backends than sim, one run is made then, which may be enough.
std::string why_not_exhaustive(const RunSpecification& specification);
inline bool can_be_exhaustive(const RunSpecification& specification) {
  return why_not_exhaustive(specification).empty();
}

// Whether a Guide can be told what the runs do.
bool can_be_watched(const RunSpecification& specification) noexcept;

// The specification with a limit of steps, if it has none: a run that takes longer would not end.
RunSpecification bounded(RunSpecification specification);

// Runs `program` until a run fails, every class has been seen, or `may_go_on` says no; adds to
// `exploration`. With faults: first without them, then every class of each of their cases. The
// claim stays `sampled` unless a failure is found or everything has been seen. The failure keeps
// its schedule. A result that depends on which message a receive from any source takes is a
// failure, with the finding message_race; so is a program that does not repeat itself under one
// schedule, with the finding nondeterminism. `jobs` threads run the program; what is found does not
// depend on their number.
void run_exhaustively(const Program& program, const RunSpecification& specification,
                      const std::function<bool()>& may_go_on, Exploration& exploration,
                      int jobs = 1);

// Why exhaustive runs have shown nothing: "the runs are too large to compare".
std::string why_not_proved(const sim::EverySchedule& every);

}  // namespace gang::harness
