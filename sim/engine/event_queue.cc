#include "sim/engine/event_queue.h"

namespace gang::sim {

std::optional<TimePoint> EventQueue::next_time() {
  while (!heap_.empty()) {
    const Event& event = heap_.top();
    if (event.task->wait != nullptr && event.task->wait_serial == event.wait_serial)
      return event.time;
    heap_.pop();
  }
  return std::nullopt;
}

}  // namespace gang::sim
