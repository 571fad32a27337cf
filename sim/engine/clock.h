// What time it is in a run, and what will happen when.
#pragma once

#include <algorithm>
#include <optional>

#include "sim/contexts/wall_clock.h"
#include "sim/engine/event_queue.h"

namespace gang::sim {

// Virtual time or, under ContextKind::parallel, wall-clock time that jumps when no context can run.
class Clock {
 public:
  explicit Clock(bool is_wall) noexcept : is_wall_(is_wall) {}

  // Begins at zero now.
  void start() noexcept {
    if (is_wall_) wall_clock_.emplace();
  }

  TimePoint now() const noexcept { return is_wall_ ? wall_now() : now_; }

  // The same; requires virtual time.
  TimePoint virtual_now() const noexcept { return now_; }

  // Jumps to `time`, unless it has passed.
  void advance_to(TimePoint time) {
    if (!is_wall_) {
      now_ = std::max(now_, time);
      return;
    }
    const TimePoint passed = wall_now();
    if (time > passed) skipped_ += time - passed;
  }

  // Wakes `task` at `time`, unless the wait that it begins next has ended before.
  void wake_at(TimePoint time, Task& task) {
    ++task.wait_serial;
    task.make_rare().timer_serial = task.wait_serial;
    events_.push(time, task);
    --task.wait_serial;
  }

  // The wake-ups to come.
  EventQueue& events() noexcept { return events_; }

  // All waits and operations with deadlines up to `time` have ended by themselves.
  void note_timeouts(TimePoint time) noexcept { timeouts_until_ = time; }

  // Whether whoever comes now comes too late for `deadline`. In the instant of that, all who can
  // run are in time.
  bool has_passed(TimePoint deadline) const noexcept {
    return deadline <= timeouts_until_ || deadline < now();
  }

  // Some wait or operation ends by itself at `deadline`.
  void note_deadline(TimePoint deadline) noexcept {
    if (deadline < deadline_bound_) deadline_bound_ = deadline;
  }

  // A lower bound on all deadlines; it need not be tight.
  TimePoint deadline_bound() const noexcept { return deadline_bound_; }
  void set_deadline_bound(TimePoint bound) noexcept { deadline_bound_ = bound; }

 private:
  TimePoint wall_now() const noexcept {
    return wall_clock_ ? wall_clock_->elapsed() + skipped_ : skipped_;
  }

  const bool is_wall_;
  TimePoint now_{0};
  TimePoint deadline_bound_ = TimePoint::max();
  TimePoint timeouts_until_{-1};
  Duration skipped_{0};
  std::optional<WallClock> wall_clock_;  // none: virtual time, or not started
  EventQueue events_;
};

}  // namespace gang::sim
