// Repeats a recorded schedule.
#pragma once

#include <stdexcept>
#include <string>

namespace gang::sim {

// A recorded schedule met something else than was recorded. what() names the step, what was
// recorded and what was found. The engine turns it into Outcome::diverged.
class ScheduleDivergence : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gang::sim
