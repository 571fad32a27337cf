// Timeouts, sleeps and waits end at the virtual time that they state.
#pragma once

#include <string>
#include <vector>

#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// A world in which one rank never comes. Rank r comes to the operation after `delays_ms[r]`.
struct TimeoutCase {
  std::vector<int> delays_ms;  // one per rank
  int missing_rank = 0;
  int timeout_ms = 1;
  bool is_of_call = false;  // the call's own timeout, otherwise the gang's
  sim::SchedulerKind scheduler = sim::SchedulerKind::round_robin;
  std::uint64_t seed = 1;

  int world() const noexcept { return static_cast<int>(delays_ms.size()); }
  // When the first of the ranks that came gives up.
  Duration first_timeout() const noexcept;
  friend bool operator==(const TimeoutCase&, const TimeoutCase&) = default;
};

TimeoutCase generate_timeout(Draw& draw);
std::string to_text(const TimeoutCase& timeout);
std::vector<TimeoutCase> shrinks(const TimeoutCase& timeout);

std::vector<Property> timeouts_fire_on_time(const Subject& subject = {});

}  // namespace gang::properties
