// Messages that wait for each other because one end passes what nobody else passes.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/report/report.h"
#include "sim/verdict/call_sequences.h"
#include "sim/verdict/deviation.h"

namespace gang::sim {

// The calls that the ranks' programs are blocked in.
using BlockedPrograms = std::map<int, const BlockedCall*>;

// Finds the end that is wrong: a tag, say, that differs from what most ranks pass at that place,
// while the other end passes that, too, or what most ranks pass at its own place. Where neither or
// both differ, nobody is wrong for sure. Borrows both.
class MistakenMessages {
 public:
  MistakenMessages(const CallSequences& sequences, const BlockedPrograms& blocked)
      : sequences_(sequences), blocked_(blocked) {}

  // Those of `places`, where ranks make one call, that are wrong. O(places), and O(calls) once for
  // each call that such a message waits for.
  std::vector<int> among(const std::vector<Place>& places);

  // Whether the message and the one at its other end wait for each other: both ranks are where they
  // should be, and what they pass differs.
  bool is_met(Place message) const { return other_end_of(message).has_value(); }

 private:
  // How often the call was made before, with the call.
  using Occurrence = std::pair<Token, std::size_t>;

  const SequenceStep& step_at(Place place) const { return sequences_.of(place.rank)[place.at]; }
  std::optional<Place> blocked_message_of(int rank) const;
  std::optional<Place> other_end_of(Place message) const;
  bool is_usual(Place message);
  std::optional<Arguments> find_usual(const Occurrence& occurrence) const;

  const CallSequences& sequences_;
  const BlockedPrograms& blocked_;
  std::map<Occurrence, std::optional<Arguments>> usual_;  // what most ranks pass, of two or more
};

}  // namespace gang::sim
