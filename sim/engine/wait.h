// What a context is blocked on.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "gang/duration.h"
#include "sim/state/awaited_message.h"
#include "sim/state/task.h"

namespace gang::sim {

// For reports. On the stack of the blocking function.
struct Wait {
  enum class Reason : std::uint8_t {
    operation,      // one operation
    any_operation,  // the first of several that ends
    sleep,
    join,
    mutex,
    condition,
    poll,
    message,
    outside  // another process computes: the context may continue, but the others go first
  };
  // One operation (or null: nothing of which reports could speak), several, a context or a message.
  using Target = std::variant<PendingOperation*, std::span<PendingOperation* const>, const Task*,
                              const AwaitedMessage*>;

  Reason reason = Reason::operation;
  Target target = static_cast<PendingOperation*>(nullptr);
  // When the wait ends by itself. As with an operation's deadline, time does not pass for its sake
  // alone unless timeouts fire.
  TimePoint deadline = TimePoint::max();

  // Empty if it waits for something else.
  std::span<PendingOperation* const> operations() const noexcept {
    if (const auto* several = std::get_if<std::span<PendingOperation* const>>(&target))
      return *several;
    const auto* one = std::get_if<PendingOperation*>(&target);
    return one == nullptr || *one == nullptr ? std::span<PendingOperation* const>()
                                             : std::span<PendingOperation* const>(one, 1);
  }

  // The one that is joined, or that holds the mutex; null if it waits for something else.
  const Task* context() const noexcept {
    const auto* context = std::get_if<const Task*>(&target);
    return context == nullptr ? nullptr : *context;
  }

  // Null if it waits for something else.
  const AwaitedMessage* message() const noexcept {
    const auto* message = std::get_if<const AwaitedMessage*>(&target);
    return message == nullptr ? nullptr : *message;
  }
};

}  // namespace gang::sim
