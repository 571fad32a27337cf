// What a context is blocked on.
#pragma once

#include <cstdint>
#include <span>

#include "gang/duration.h"
#include "sim/state/awaited_message.h"
#include "sim/state/task.h"

namespace gang::sim {

// For reports. On the stack of the blocking function.
struct Wait {
  enum class Reason : std::uint8_t {
    operation,      // the only one of `operations`
    any_operation,  // the first of `operations` that ends
    sleep,
    join,
    mutex,
    condition,
    poll,
    message,
    outside  // another process computes: the context may continue, but the others go first
  };
  Reason reason = Reason::operation;
  std::span<PendingOperation* const> operations = {};
  const Task* joined = nullptr;  // join
  const Task* holder = nullptr;  // mutex
  const AwaitedMessage* message = nullptr;
  // When the wait ends by itself. As with an operation's deadline, time does not pass for its sake
  // alone unless timeouts fire.
  TimePoint deadline = TimePoint::max();
};

}  // namespace gang::sim
