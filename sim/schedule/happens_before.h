// Which steps of a run came after which, whatever the order of those that commute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

// Vector clocks over the steps of a log. O(steps * contexts).
class HappensBefore {
 public:
  HappensBefore(const StepLog& log, const AnyReceives& known);

  // Whether the log is small enough to be looked at.
  static bool fits(const StepLog& log) noexcept;

  // In the order of their second steps.
  const std::vector<Race>& races() const noexcept { return races_; }

  TaskId context_of(std::uint32_t step) const noexcept { return context_of_[step]; }

  // Whether `step` comes after `earlier` in every equivalent run.
  bool comes_after(std::uint32_t step, std::uint32_t earlier) const noexcept {
    return clocks_[step * contexts_ + context_of_[earlier]] > earlier;
  }

 private:
  class Walk;

  std::span<const std::uint32_t> clock_of(std::uint32_t step) const noexcept;

  std::size_t contexts_;
  std::vector<TaskId> context_of_;     // by step
  std::vector<std::uint32_t> clocks_;  // by step and context: steps known, as index + 1
  std::vector<Race> races_;
};

}  // namespace gang::sim
