// Which steps of a run came after which, whatever the order of those that commute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/contested_objects.h"
#include "sim/schedule/key_table.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// Two steps that do not commute and of which the first is not known to come before the second for
// another reason.
struct Race {
  std::uint32_t first_step = 0;
  std::uint32_t second_step = 0;
  std::uint32_t first_access = 0;  // in StepLog::accesses
  std::uint32_t second_access = 0;
};

// Vector clocks over the steps of a log, up to the last that accesses what is contested: after that
// nothing races. O(steps * contexts). One object can read many logs, one after the other, and then
// takes no memory for most of them.
class HappensBefore {
 public:
  HappensBefore() = default;
  HappensBefore(const StepLog& log, const Knowledge& known) { read(log, known); }

  void read(const StepLog& log, const Knowledge& known);

  // Whether the log is small enough to be looked at.
  static bool fits(const StepLog& log) noexcept;

  // In the order of their second steps.
  const std::vector<Race>& races() const noexcept { return races_; }

  // Of steps up to the last one of a race.
  TaskId context_of(std::uint32_t step) const noexcept { return context_of_[step]; }

  // Whether `step` comes after `earlier` in every equivalent run.
  bool comes_after(std::uint32_t step, std::uint32_t earlier) const noexcept {
    return clocks_[step * width_ + context_of_[earlier]] > earlier;
  }

 private:
  // By context: steps known, as index + 1; then zeros.
  using Clock = std::uint32_t*;
  using Clocks = std::vector<std::uint32_t>;

  using Use = ContestedObjects::Use;

  struct AccessInStep {
    std::uint32_t step = 0;
    std::uint32_t access = 0;
    AccessMode mode = AccessMode::read;
  };
  // What has been done to one object since it was last written, that included. Its clocks, by mode,
  // are in history_clocks_; of a write: of all before it, too.
  struct ObjectHistory {
    std::vector<AccessInStep> accesses;
    AccessModes clocks;  // those of which there is one
  };
  void begin(const StepLog& log);
  void take_step(std::uint32_t step, const StepLog& log, const Knowledge& known);
  void rest();
  // The first of the accesses that are left.
  void take_access(Clock clock, std::uint32_t step);
  void note(const AccessInStep& access, Clock clock, std::uint32_t object);
  void find_races(Clock clock, std::uint32_t step, std::span<const Use> uses);
  void join_published(StepKey from, Clock into) noexcept;
  void publish(const std::uint32_t* clock, StepKey object);

  // Of a row, what further rows hold is not said: memory of earlier logs is used again.
  void make_room(Clocks& clocks, std::size_t rows) const;
  Clock row(Clocks& clocks, std::size_t index) const noexcept {
    return clocks.data() + index * width_;
  }
  Clock history_clock(std::uint32_t object, AccessMode mode) noexcept {
    return row(history_clocks_, object * access_modes + static_cast<std::size_t>(mode));
  }
  void clear(Clock clock) const noexcept;
  void copy(const std::uint32_t* from, Clock to) const noexcept;
  void join(const std::uint32_t* other, Clock into) const noexcept;

  std::size_t width_ = 0;           // of a clock: the contexts, rounded up
  std::vector<TaskId> context_of_;  // by step
  Clocks clocks_;                   // by step: of its last access, if it has any
  std::vector<Race> races_;

  // While a log is read.
  Clocks now_;  // by context
  KeyTable published_;
  Clocks published_clocks_;
  Clocks carried_;
  ContestedObjects contested_;
  std::span<const Use> left_;             // of its uses
  std::vector<ObjectHistory> histories_;  // of objects, of those that are contested
  Clocks history_clocks_;                 // by object and mode
  std::vector<AccessInStep> earlier_;
  Clocks before_;
  Clocks clock_of_accesses_;  // of a step
};

}  // namespace gang::sim
