// Real time since a point: what a run took, and the clock of parallel contexts.
#pragma once

#include <chrono>

#include "gang/duration.h"

namespace gang::sim {

// Starts when made. The one clock of sim/ that is not virtual: nothing that a trace, a schedule or
// a digest depends on may ask it (except under ContextKind::parallel).
class WallClock {
 public:
  Duration elapsed() const noexcept { return std::chrono::steady_clock::now() - start_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gang::sim
