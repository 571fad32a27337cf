// Calls that waited for a process longer than their timeout.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/duration.h"

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

  void clear() { waits_.clear(); }

  // `call` came at `begin`, and `late_rank` was the last of those that it waited for. Notes it if
  // it waited for longer than its timeout while that rank was outside of calls.
  void note(const Call& call, Clock::time_point begin, int late_rank, const TimeOutside& late);

  // One sentence or two about the first, and how many there are beside it; empty if there are none.
  std::string describe() const;

 private:
  // Of all ranks that waited at one place for the same call of another rank.
  struct Wait {
    std::string call;  // "barrier at train.py:3"
    std::vector<int> ranks;
    Duration longest{0};
    Duration timeout{0};
    int late_rank = 0;
    TimeOutside late;
  };

  std::vector<Wait> waits_;
};

}  // namespace gang::harness
