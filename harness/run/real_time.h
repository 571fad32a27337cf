// What real time had to do with a run whose ranks are processes: that of a simulated run stands
// while they compute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/call_site.h"
#include "gang/duration.h"

namespace gang::harness {

// Ranks that waited in a call for one that was outside of calls, longer than their timeout. A real
// run, which waits in real time, would end there.
struct LongWait {
  std::vector<int> ranks;   // those that waited, of the root gang, ascending
  std::string call;         // "barrier"
  SourceLocation location;  // of that call
  Duration waited{0};       // the longest of them
  Duration timeout{0};
  int late_rank = 0;             // whom they waited for
  SourceLocation late_location;  // of the call that it came to in the end

  friend bool operator==(const LongWait&, const LongWait&) = default;
};

// A value.
struct RealTime {
  // At a deadlock, the ranks that were outside of calls and may yet go on: they have been idle for
  // long, or the run was interrupted. Ascending.
  std::vector<int> stuck_ranks;
  bool was_interrupted = false;
  std::string irreproducible;  // why the same run may end otherwise; empty: it does not
  std::vector<LongWait> long_waits;

  friend bool operator==(const RealTime&, const RealTime&) = default;
};

// "Ranks 1-3 waited 3 s in barrier at train.py:21 for rank 0, ...".
std::string to_string(const LongWait& wait);

// What people are to know about a run, under a word that says of which kind it is.
struct Advice {
  std::string_view kind;  // "Probable"
  std::string text;

  friend bool operator==(const Advice&, const Advice&) = default;
};

std::vector<Advice> advice_on(const RealTime& time);

// An object without its empty fields. The inverse throws InvalidArgument, which names the field.
nlohmann::json to_json(const RealTime& time);
RealTime real_time_from_json(const nlohmann::json& json);

}  // namespace gang::harness
