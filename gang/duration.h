// Spans and points of time; the same types for real and virtual clocks.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace gang {

using Duration = std::chrono::nanoseconds;

// A point in time: how long the run has lasted, on the clock of the rank's Runtime.
using TimePoint = std::chrono::nanoseconds;

// Never times out. There is no other way to say so; a timeout of zero is invalid.
inline constexpr Duration no_timeout = Duration::max();

// fairseq2's default: 15 minutes.
inline constexpr Duration default_timeout = std::chrono::minutes(15);

// When `timeout` after `began` is over; TimePoint::max(), which never comes, for no_timeout.
constexpr TimePoint deadline_after(TimePoint began, Duration timeout) noexcept {
  TimePoint::rep deadline = 0;
  const bool never = __builtin_add_overflow(began.count(), timeout.count(), &deadline);
  return never ? TimePoint::max() : TimePoint(deadline);
}

// "15 min", "2.5 s", "10 ms", "0 s": the largest unit that reads well, at most 3 decimals.
std::string to_string(Duration duration);

// "1500ms", "none": without spaces, and read back exactly by parse_duration.
std::string to_duration_text(Duration duration);

// "5 ms", "1.5s", "15 min", "2 h", "100us", "7ns", or "none" for no_timeout. Throws InvalidArgument
// for any other text, a negative duration and one of more than 9e18 ns.
Duration parse_duration(std::string_view text);

double to_seconds(Duration duration);

}  // namespace gang
