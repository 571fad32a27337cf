#include "sim/engine/awaiting.h"

namespace gang::sim {

bool Awaiting::await(const AwaitedMessage& message, const std::function<bool()>& has_come,
                     std::optional<Duration> timeout) {
  const Wait wait{.reason = Wait::Reason::message, .message = &message};
  const TimePoint end = timeout ? deadline_after(engine_.now(), *timeout) : TimePoint::max();
  while (!has_come()) {
    if (engine_.now() >= end) return false;
    Task& self = engine_.current();
    if (end != TimePoint::max()) engine_.clock().wake_at(end, self);
    waiting_.push_back(&self);
    try {
      engine_.block(self, wait);
    } catch (...) {
      std::erase(waiting_, &self);
      throw;
    }
    std::erase(waiting_, &self);
  }
  return true;
}

void Awaiting::announce() {
  engine_.note_progress();
  for (Task* task : waiting_) engine_.wake(*task);
}

}  // namespace gang::sim
