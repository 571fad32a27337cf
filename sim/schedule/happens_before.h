// Which steps of a run came after which, whatever the order of those that commute.
#pragma once

#include <array>
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
// nothing races. O(steps * contexts). One object can read many logs, one
// after the other, and then takes no memory for most of them.
class HappensBefore {
 public:
  HappensBefore() = default;
  HappensBefore(const StepLog& log, const AnyReceives& known) { read(log, known); }

  void read(const StepLog& log, const AnyReceives& known);

  // Whether the log is small enough to be looked at.
  static bool fits(const StepLog& log) noexcept;

  // In the order of their second steps.
  const std::vector<Race>& races() const noexcept { return races_; }

  // Of steps up to the last one of a race.
  TaskId context_of(std::uint32_t step) const noexcept { return context_of_[step]; }

  // Whether `step` comes after `earlier` in every equivalent run.
  bool comes_after(std::uint32_t step, std::uint32_t earlier) const noexcept {
    return clocks_[step * contexts_ + context_of_[earlier]] > earlier;
  }

 private:
  using Clock = std::span<std::uint32_t>;  // by context: steps known, as index + 1

  struct AccessInStep {
    std::uint32_t step = 0;
    std::uint32_t access = 0;
    AccessMode mode = AccessMode::read;
  };
  // What has been done to one object since it was last written, that included. Its clocks, by mode,
  // are in history_clocks_; of a write: of all before it, too.
  struct ObjectHistory {
    std::vector<AccessInStep> accesses;
    std::array<bool, access_modes> has{};  // by mode: whether there is a clock

    // Whether any of them does not commute with a further one.
    bool conflicts(AccessMode mode) const noexcept;
  };
  void begin(const StepLog& log);
  void take(const StepMark& mark, const StepLog& log);
  void end_step();
  void access(Clock clock, std::uint32_t index, const StepLog& log);
  void find_races(Clock clock, const AccessInStep& now, std::span<const std::uint32_t> objects);
  void join_published(StepKey from, Clock into);
  Clock row(std::vector<std::uint32_t>& rows, std::size_t index) const noexcept {
    return Clock(rows).subspan(index * contexts_, contexts_);
  }
  Clock published(StepKey object);

  std::size_t contexts_ = 0;
  std::vector<TaskId> context_of_;     // by step
  std::vector<std::uint32_t> clocks_;  // by step: of its last access, if it has any
  std::vector<Race> races_;

  // While a log is read.
  std::vector<std::uint32_t> now_;  // the clock of each context
  KeyTable published_;
  std::vector<std::uint32_t> published_clocks_;
  std::vector<std::uint32_t> carried_;
  ContestedObjects contested_;
  std::vector<ObjectHistory> histories_;  // of the contested ones
  std::vector<std::uint32_t> history_clocks_;
  std::vector<AccessInStep> earlier_;
  std::vector<std::uint32_t> before_;
  bool is_in_step_ = false;
  bool has_accessed_ = false;                     // in this step
  bool has_learned_ = false;                      // in this step, after its last access ...
  std::vector<std::uint32_t> clock_of_accesses_;  // ... whose clock this is
};

}  // namespace gang::sim
