// Counts the switches of a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sim/options/simulation_options.h"

namespace gang::sim {

// Whether a search for contexts that can never continue happens while others run.
inline bool searches_while_others_run(const SimulationOptions& options) noexcept {
  return options.deadlock_search == DeadlockSearch::while_others_run &&
         options.context != ContextKind::parallel &&
         options.pending_timeouts == PendingTimeouts::are_deadlocks;
}

// Determines when to inspect a run: past its step limit, or for the next search.
class StepCounter {
 public:
  StepCounter(const SimulationOptions& options, std::size_t contexts)
      : limit_(options.step_limit), searches_(searches_while_others_run(options)) {
    plan(contexts);
  }

  // Counts a switch. Returns whether to stop and inspect the run.
  bool step() noexcept {
    if (--left_ > 0) [[likely]]
      return false;
    stop_at(next_stop_ + 1);  // each further one, until the next plan
    return true;
  }

  // What the next step() will return.
  bool stops_next() const noexcept { return left_ == 1; }

  std::uint64_t steps() const noexcept { return next_stop_ - left_; }
  bool is_past_limit() const noexcept { return steps() > limit_; }

  // Sets the next stop, given the number of contexts left.
  void plan(std::size_t contexts) noexcept {
    constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t least_between_searches = 1000;
    const std::uint64_t now = steps();
    std::uint64_t next = limit_ == never ? never : limit_ + 1;
    if (searches_)
      next = std::min(next, now + std::max<std::uint64_t>(least_between_searches, 16 * contexts));
    stop_at(std::max(next, now + 1));
  }

 private:
  void stop_at(std::uint64_t step) noexcept {
    left_ = step - steps();
    next_stop_ = step;
  }

  const std::uint64_t limit_;
  const bool searches_;
  std::uint64_t next_stop_ = 0;  // after so many steps
  std::uint64_t left_ = 0;       // until then: a step counts down to it
};

}  // namespace gang::sim
