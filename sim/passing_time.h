// What passes when no context can run: time.
#pragma once

#include <cstdint>
#include <optional>

#include "gang/duration.h"

namespace gang::sim {

class FaultInjector;
struct World;

// The clock of a run, moved to what happens next: waits that timers end, operations that time out,
// faults. Called under the engine's Guard.
class PassingTime {
 public:
  explicit PassingTime(World& world) noexcept : world_(world) {}

  // Null: the run has no fault plan.
  void set_faults(FaultInjector* faults) noexcept { faults_ = faults; }

  // When something happens by itself, timeouts aside.
  std::optional<TimePoint> next_event() const;

  // When the first operation or wait times out, if that is before `limit`.
  std::optional<TimePoint> next_timeout(TimePoint limit);

  // Moves the clock to `time`, and makes everything happen that is due then.
  void reach_event(TimePoint time);
  void reach_timeout(TimePoint time);
  void reach_trigger();  // of the fault plan, at its time

  // Moves the clock by `step`, or only to the first timeout before.
  void pass(Duration step);

  // Whether all that happens any more is that contexts look, again and again, whether something has
  // happened, at times of their choice. As with polls, they may try often before that is said.
  bool is_slept_away();

 private:
  void advance_to(TimePoint time);
  TimePoint earliest_deadline() const;
  std::uint64_t activity() const;

  World& world_;
  FaultInjector* faults_ = nullptr;
  std::uint64_t activity_ = 0;    // when a timer last ended a wait
  std::uint64_t naps_ = 0;        // waits that timers have ended since it changed
  std::uint64_t next_check_ = 0;  // at this many
};

}  // namespace gang::sim
