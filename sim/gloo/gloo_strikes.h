// Ranks that die in the middle of an algorithm of Gloo's.
#pragma once

#include <cstdint>
#include <map>

#include "sim/faults/fault_injector.h"
#include "sim/random_stream.h"

namespace gang::sim {

class Engine;

// Faults that wait for a message of the operation they are to happen in: which one is drawn.
class GlooStrikes {
 public:
  explicit GlooStrikes(Engine& engine);

  // The current context is about to send or to receive. May not return. Cheap where nothing waits.
  void at_message() {
    if (!armed_.empty()) [[unlikely]]
      strike_if_due();
  }

 private:
  friend class ArmedStrike;
  struct Armed {
    PendingOperation* pending;
    ArmedFault** fault;
    std::uint64_t messages_left;
  };

  void strike_if_due();

  Engine& engine_;
  RandomStream stream_;
  std::map<TaskId, Armed> armed_;
};

// While it lives, `fault` (null: nothing) waits for a message of the current context; then it is
// null.
class ArmedStrike {
 public:
  ArmedStrike(GlooStrikes& strikes, PendingOperation& pending, ArmedFault*& fault);
  ~ArmedStrike();
  ArmedStrike(const ArmedStrike&) = delete;
  ArmedStrike& operator=(const ArmedStrike&) = delete;

 private:
  GlooStrikes& strikes_;
  TaskId task_ = no_task;
};

}  // namespace gang::sim
