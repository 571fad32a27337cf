#include "sim/engine/awaiting.h"

namespace gang::sim {

Awaited Awaiting::await(const AwaitedMessage& message, const std::function<bool()>& has_come,
                        TimePoint deadline) {
  const Wait wait{.reason = Wait::Reason::message, .target = &message};
  while (!has_come()) {
    if (engine_.now() >= deadline) return Awaited::too_late;
    Task& self = engine_.current();
    if (deadline != TimePoint::max()) engine_.clock().wake_at(deadline, self);
    waiting_.push_back({&self, &has_come});
    try {
      engine_.block(self, wait);
    } catch (...) {
      remove(self);
      throw;
    }
    remove(self);
  }
  return engine_.now() >= deadline ? Awaited::in_last_instant : Awaited::in_time;
}

void Awaiting::remove(const Task& task) {
  std::erase_if(waiting_, [&task](const Waiting& waiting) { return waiting.task == &task; });
}

void Awaiting::announce() {
  engine_.note_progress();
  // No other one: a context that wakes in vain makes a step that depends on what it has not seen.
  for (const Waiting& waiting : waiting_)
    if ((*waiting.has_come)()) engine_.wake(*waiting.task);
}

}  // namespace gang::sim
