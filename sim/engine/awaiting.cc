#include "sim/engine/awaiting.h"

namespace gang::sim {

void Awaiting::await(const AwaitedMessage& message, const std::function<bool()>& has_come) {
  const Wait wait{.reason = Wait::Reason::message, .message = &message};
  while (!has_come()) {
    Task& self = engine_.current();
    waiting_.push_back(&self);
    try {
      engine_.block(self, wait);
    } catch (...) {
      std::erase(waiting_, &self);
      throw;
    }
    std::erase(waiting_, &self);
  }
}

void Awaiting::announce() {
  engine_.note_progress();
  for (Task* task : waiting_) engine_.wake(*task);
}

}  // namespace gang::sim
