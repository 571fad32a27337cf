// Calls that waited for a process longer than their timeout.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/duration.h"
#include "harness/run/real_time.h"

namespace gang::harness {

// The time that a thread of a process was outside of calls before one of them: when that would have
// been in a real run (Caller::ahead).
struct TimeOutside {
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin{};
  Clock::time_point end{};  // when the call came
  CallSite call_site = {};  // of the call
};

// Simulated time stands while a process computes, so a run completes where a real one, which waits
// in real time, would end with a timeout. These are the calls of a run in which that is so.
class LongWaits {
 public:
  using Clock = TimeOutside::Clock;

  // A call that has ended.
  struct Call {
    int rank = 0;
    std::string_view name;  // "all_reduce"
    CallSite call_site = {};
    Duration timeout{0};
  };

  void clear() {
    waits_.clear();
    ends_.clear();
  }

  // `call` came at `begin`, and `late_rank` was the last of those that it waited for. Notes it if
  // it waited for longer than its timeout while that rank was outside of calls.
  void note(const Call& call, Clock::time_point begin, int late_rank, const TimeOutside& late);

  // In the order in which they were noted. All ranks that waited at one place for the same call of
  // another rank share one.
  const std::vector<LongWait>& all() const noexcept { return waits_; }

 private:
  std::vector<LongWait> waits_;
  std::vector<Clock::time_point> ends_;  // of each, when the late rank came
};

}  // namespace gang::harness
