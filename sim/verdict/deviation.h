// What a rank did where it left the others, in values.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/verdict/call_sequences.h"
#include "sim/verdict/consensus.h"

namespace gang::sim {

// A step of a rank.
struct Place {
  int rank = 0;
  std::size_t at = 0;  // index into the sequence of the rank

  friend bool operator==(const Place&, const Place&) = default;
};

inline const SequenceStep& step_at(const CallSequences& sequences, Place place) {
  return sequences.of(place.rank)[place.at];
}

// What `odd` did where the others, one or more, did the same at `expected`.
Deviation deviation_of(const CallSequences& sequences, Place odd,
                       const std::vector<Place>& expected);

// For how long the ranks go on alike if `odd` has left out the call at `expected`, or has made one
// more before it. No more than a limited number of calls is compared.
struct Outlook {
  std::size_t if_skipped = 0;
  std::size_t if_extra = 0;
};
Outlook outlook_of(const CallSequences& sequences, Place odd, Place expected);

// Whether `odd`, in a call that met the one at `expected`, on the same gang and of the same kind
// but from another place, is no longer in step with it; otherwise it took a branch with a call of
// its own, as it may.
bool is_out_of_step(const CallSequences& sequences, Place odd, Place expected);

// What makes two calls of one operation differ, without their places. Peers of messages do not:
// each rank may have its own.
using Arguments = std::tuple<std::string_view, std::string_view, std::optional<int>>;
Arguments arguments_of(const CallSequences& sequences, Place place);

// What all of these did: one call, or they returned. Not empty.
CallSummary summary_of(const CallSequences& sequences, const std::vector<Place>& places);

}  // namespace gang::sim
