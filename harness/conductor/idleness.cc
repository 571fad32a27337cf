#include "harness/conductor/idleness.h"

#include <algorithm>

namespace gang::harness {
namespace {

// Between two looks. If more time has passed, the machine has probably been suspended.
constexpr Duration most_unseen = std::chrono::milliseconds(1500);

}  // namespace

void Idleness::look(Clock::time_point now, Duration interval) {
  if (now - last_look_ < interval) return;
  const Duration uncounted = std::max<Duration>(now - last_look_ - most_unseen, Duration(0));
  begun_ += uncounted;
  awake_since_ += uncounted;
  last_look_ = now;
  // A process that is not known works, for all that can be seen.
  const ProcessorUse working{.is_busy = true};
  const ProcessorUse use =
      process_.id == 0 ? working : processor_use(process_.id, thread_).value_or(working);
  // A tick is 10 ms; an idle interpreter wakes a few times per second.
  const std::uint64_t allowed =
      1 + static_cast<std::uint64_t>((now - begun_) / std::chrono::milliseconds(200));
  const bool works = !has_looked_ || use.ticks < ticks_ || use.ticks > ticks_ + allowed ||
                     (use.is_busy && was_running_);
  if (works) {
    begun_ = now;
    ticks_ = use.ticks;
  }
  if (works || use.is_busy || use.is_sleeping) awake_since_ = now;
  has_looked_ = true;
  was_running_ = use.is_busy;
}

}  // namespace gang::harness
