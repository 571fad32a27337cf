// Ranks that die in the middle of an operation.
#pragma once

#include <cstdint>
#include <map>

#include "sim/matching/interference.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

struct World;

// About how many steps a rank takes in one operation: that many, and so many for each member.
struct OperationSteps {
  std::uint64_t always = 0;
  std::uint64_t by_member = 0;
};

// Faults that wait for a step of the operation they are to happen in: which one is drawn.
class Strikes {
 public:
  Strikes(World& world, OperationSteps steps);

  // The current context is about to take a step: to send, to launch, to wait. May not return. Cheap
  // where nothing waits.
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

// While it lives, `fault` (null: nothing) waits for a step of the current context; then it is null.
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
