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

  // Those that are wrong, by rank; none if they are very many: ranks that differ are no mistake.
  // O(blocked ranks), and O(calls) once for each call that they are blocked in.
  std::vector<Deviation> find();

  // Whether the message and the one at its other end wait for each other, and no such messages have
  // ever met: nobody left the others there, it is what both pass that differs.
  bool is_new_to_all(Place message) const;

 private:
  // How often the call was made before, with the call.
  using Occurrence = std::pair<Token, std::size_t>;

  // What ranks pass in it.
  struct Usage {
    std::optional<Arguments> of_most;
    std::optional<Arguments> of_met;  // what all pass whose message was exchanged
    std::map<Arguments, std::vector<Place>> places = {};
  };

  const SequenceStep& step_at(Place place) const { return sequences_.of(place.rank)[place.at]; }
  std::optional<Place> blocked_message_of(int rank) const;
  std::optional<Place> other_end_of(Place message) const;
  const Usage& usage_at(Place message);
  Usage find_usage(const Occurrence& occurrence) const;
  std::optional<Deviation> judge(Place message);
  std::vector<Place> met_elsewhere(Place message, const Arguments& arguments) const;

  const CallSequences& sequences_;
  const BlockedPrograms& blocked_;
  std::map<Occurrence, Usage> usages_;
};

}  // namespace gang::sim
