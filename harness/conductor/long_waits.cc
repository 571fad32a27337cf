#include "harness/conductor/long_waits.h"

#include <algorithm>

namespace gang::harness {

void LongWaits::note(const Call& call, Clock::time_point begin, int late_rank,
                     const TimeOutside& late) {
  const Duration waited = late.end - std::max(begin, late.begin);
  if (waited <= call.timeout) return;
  const SourceLocation location = location_of(call.call_site);
  const auto is_same = [&](const LongWait& wait) {
    return wait.late_rank == late_rank && wait.call == call.name && wait.location == location &&
           ends_[static_cast<std::size_t>(&wait - waits_.data())] == late.end;
  };
  const auto known = std::ranges::find_if(waits_, is_same);
  if (known == waits_.end()) {
    ends_.push_back(late.end);
    waits_.push_back({.ranks = {call.rank},
                      .call = std::string(call.name),
                      .location = location,
                      .waited = waited,
                      .timeout = call.timeout,
                      .late_rank = late_rank,
                      .late_location = location_of(late.call_site)});
    return;
  }
  const auto place = std::ranges::lower_bound(known->ranks, call.rank);
  if (place == known->ranks.end() || *place != call.rank) known->ranks.insert(place, call.rank);
  known->waited = std::max(known->waited, waited);
}

}  // namespace gang::harness
