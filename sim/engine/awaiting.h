// Contexts that wait for messages which the engine does not carry.
#pragma once

#include <functional>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/state/awaited_message.h"

namespace gang::sim {

// Called under the engine's Guard.
class Awaiting {
 public:
  explicit Awaiting(Engine& engine) noexcept : engine_(engine) {}

  // Blocks the current context until `has_come()`, which is asked again after each announce().
  // Reports say that it waits for `message`. Ends at `deadline` if that does not come before.
  Awaited await(const AwaitedMessage& message, const std::function<bool()>& has_come,
                TimePoint deadline);

  // Something may have come: wakes the contexts whose message has.
  void announce();

 private:
  struct Waiting {
    Task* task;
    const std::function<bool()>* has_come;
  };

  void remove(const Task& task);

  Engine& engine_;
  std::vector<Waiting> waiting_;
};

}  // namespace gang::sim
