// A contest in words.
#pragma once

#include <string>
#include <string_view>

#include "sim/report/report.h"
#include "sim/schedule/reversals.h"

namespace gang::sim {

// How a run decides it that takes the two steps in the other order than `contest` has them: "the
// receive from any source on rank 0 at pump.cc:31 took the message of rank 2 (ahead.cc:12), not
// that of rank 1 (ahead.cc:9)".
std::string to_text(const Contest& contest);

// The choice itself, with its alternatives: "which message the receive from any source on rank 0 at
// pump.cc:31 took: that of rank 1 (ahead.cc:9) or that of rank 2 (ahead.cc:12)", "whether rank 1
// locked a mutex before 'loader' of rank 1 did".
std::string choice_text(const Contest& contest);

// The same contest, decided in the other way.
Contest reversed(Contest contest);

// Whether it decides which message a receive from any source takes.
inline bool decides_message(const Contest& contest) noexcept { return contest.receive.has_value(); }

// The finding message_race, of such a contest. `difference` is what became of the run that decided
// it otherwise than `contest` has it: "the outputs differ".
Finding message_race(const Contest& contest, std::string_view difference);

}  // namespace gang::sim
