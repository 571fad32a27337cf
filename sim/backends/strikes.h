// Faults that strike in the middle of an operation.
#pragma once

#include <cstdint>
#include <map>

#include "sim/matching/interference.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

struct World;

// Estimates the steps of a rank in one operation: `always`, plus `by_member` for each member.
struct OperationSteps {
  std::uint64_t always = 0;
  std::uint64_t by_member = 0;
};

// Faults armed to strike at a randomly drawn step of their operation.
class Strikes {
 public:
  Strikes(World& world, OperationSteps steps);

  // Called before the current context takes a step: a send, a launch or a wait. May not return.
  // Cheap if no fault is armed.
  void at_step() {
    if (!armed_.empty()) [[unlikely]]
      strike_if_due();
  }

 private:
  friend class ArmedStrike;
  struct Armed {
    PendingOperation* pending;
    ArmedFault** fault;
    std::uint64_t steps_left;
  };

  void strike_if_due();

  World& world_;
  OperationSteps steps_;
  RandomStream stream_;
  std::map<TaskId, Armed> armed_;
};

// Arms `fault` (if not null) for a step of the current context during its own lifetime. Sets
// `fault` to null once it strikes.
class ArmedStrike {
 public:
  ArmedStrike(Strikes& strikes, PendingOperation& pending, ArmedFault*& fault);
  ~ArmedStrike();
  ArmedStrike(const ArmedStrike&) = delete;
  ArmedStrike& operator=(const ArmedStrike&) = delete;

 private:
  Strikes& strikes_;
  TaskId task_ = no_task;
};

}  // namespace gang::sim
