// A schedule as what it does otherwise than the one that runs take by themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/schedule/sampler.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// A step of a run, named so that changes of the program elsewhere do not rename it.
struct StepLabel {
  std::string context;       // "rank 1", "'loader' of rank 0"; empty: before the first step
  std::string did;           // "send", "call", "lock", "condition", "test" or "step"
  std::uint64_t number = 0;  // of this context's steps that did the same, from 1
  std::string place;         // "pump.cc:31": for people only; empty: unknown

  // Whether both name one step.
  friend bool operator==(const StepLabel& a, const StepLabel& b) noexcept {
    return a.context == b.context && a.did == b.did && a.number == b.number;
  }
};

// After a step, another context makes the next one than would by itself, or the same one goes on in
// another way.
struct Detour {
  StepLabel after;
  std::string take;  // the context, as in StepLabel; of a pick: "ready kernel 2"

  friend bool operator==(const Detour&, const Detour&) = default;
};

// "after rank 1's lock 2 (train.cc:31), rank 0 runs".
std::string to_string(const Detour& detour);

// What the run of a Guide did otherwise than one without a beginning, in its order.
std::vector<Detour> detours_of(const StepLog& log);

// Makes the detours as their steps come, and otherwise goes on as a Guide does by itself.
class DetourSampler : public Sampler {
 public:
  // Those that have not been made: the step did not come, or the context could not run then.
  virtual const std::vector<Detour>& left() const noexcept = 0;
};

// For one run of the Guide whose log this is.
std::unique_ptr<DetourSampler> make_detour_sampler(std::vector<Detour> detours, const StepLog& log);

}  // namespace gang::sim
