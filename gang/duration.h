// Spans and points of time, the same type on real and virtual clocks.
#pragma once

#include <chrono>
#include <string>

namespace gang {

using Duration = std::chrono::nanoseconds;

// A point in time: what has passed since the run began, on the clock of the rank's Runtime.
using TimePoint = std::chrono::nanoseconds;

// Never times out. The only way to say so; a timeout of zero is invalid.
inline constexpr Duration no_timeout = Duration::max();

// fairseq2's default: 15 minutes.
inline constexpr Duration default_timeout = std::chrono::minutes(15);

// "15 min", "2.5 s", "10 ms", "0 s": the largest unit that reads well, at most 3 decimals.
std::string to_string(Duration duration);

}  // namespace gang
