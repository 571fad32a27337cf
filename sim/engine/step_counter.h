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
  bool step() noexcept { return ++steps_ >= next_stop_; }

  // What the next step() will return.
  bool stops_next() const noexcept { return steps_ + 1 >= next_stop_; }

  std::uint64_t steps() const noexcept { return steps_; }
  bool is_past_limit() const noexcept { return steps_ > limit_; }

  // Sets the next stop, given the number of contexts left.
  void plan(std::size_t contexts) noexcept {
    constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t least_between_searches = 1000;
    next_stop_ = limit_ == never ? never : limit_ + 1;
    if (searches_)
      next_stop_ = std::min(
          next_stop_, steps_ + std::max<std::uint64_t>(least_between_searches, 16 * contexts));
  }

 private:
  const std::uint64_t limit_;
  const bool searches_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_stop_ = 0;
};

}  // namespace gang::sim
