// What will happen at a known time.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>

#include "gang/duration.h"
#include "sim/state/task.h"

namespace gang::sim {

// Wake-ups ordered by (time, order of entry). A wake-up is for one wait of a context; once that
// wait has ended it is stale, and is dropped when it comes to the front.
class EventQueue {
 public:
  void push(TimePoint time, Task& task) { heap_.push({time, next_++, &task, task.wait_serial}); }

  // The time of the earliest wake-up that is not stale; none if there is none.
  std::optional<TimePoint> next_time();

  // Removes and returns the context of the earliest wake-up. Requires next_time() to have a value.
  Task& pop() {
    Task& task = *heap_.top().task;
    heap_.pop();
    return task;
  }

 private:
  struct Event {
    TimePoint time;
    std::uint64_t order;
    Task* task;
    std::uint64_t wait_serial;

    bool operator<(const Event& other) const noexcept {  // a heap keeps the largest in front
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  std::priority_queue<Event> heap_;
  std::uint64_t next_ = 0;
};

}  // namespace gang::sim
