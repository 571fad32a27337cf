#include "harness/conductor/long_waits.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/rank_text.h"

namespace gang::harness {
namespace {

// Real time, to the tenth of a second.
std::string real_time_text(Duration time) {
  return gang::to_string(Duration(std::chrono::floor<std::chrono::milliseconds>(time) / 100 * 100));
}

}  // namespace

void LongWaits::note(const Call& call, Clock::time_point begin, int late_rank,
                     const TimeOutside& late) {
  const Duration waited = late.end - std::max(begin, late.begin);
  if (waited <= call.timeout) return;
  const std::string text = fmt::format("{} at {}", call.name, to_string(call.call_site));
  const auto known = std::ranges::find_if(waits_, [&](const Wait& wait) {
    return wait.call == text && wait.late_rank == late_rank && wait.late.end == late.end;
  });
  if (known == waits_.end()) {
    waits_.push_back({.call = text,
                      .ranks = {call.rank},
                      .longest = waited,
                      .timeout = call.timeout,
                      .late_rank = late_rank,
                      .late = late});
    return;
  }
  const auto place = std::ranges::lower_bound(known->ranks, call.rank);
  if (place == known->ranks.end() || *place != call.rank) known->ranks.insert(place, call.rank);
  known->longest = std::max(known->longest, waited);
}

std::string LongWaits::describe() const {
  if (waits_.empty()) return "";
  const Wait& first = waits_.front();
  std::string text = fmt::format(
      "{} waited {} in {} for rank {}, which was outside of calls until it came to {}; the timeout "
      "is {}. The clock of a simulated run stands meanwhile; a real one would have timed out.",
      sim::capitalised(sim::ranks_text(first.ranks)), real_time_text(first.longest), first.call,
      first.late_rank, to_string(first.late.call_site), gang::to_string(first.timeout));
  if (waits_.size() > 1) text += fmt::format(" And {} more such.", waits_.size() - 1);
  return text;
}

}  // namespace gang::harness
