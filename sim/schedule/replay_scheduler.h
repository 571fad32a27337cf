// Repeats a recorded schedule.
#pragma once

#include <stdexcept>

namespace gang::sim {

// A run does not match the recorded schedule. what() names the step and what was recorded and found
// there. The engine turns it into Outcome::diverged.
class ScheduleDivergence : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gang::sim
