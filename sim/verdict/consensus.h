// Who does something else than most ranks, and where it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/report/call_history.h"
#include "sim/report/report.h"

namespace gang::sim {

// How a rank leaves what most ranks do.
enum class Deviance : std::uint8_t {
  skipped,          // goes on to what the others do after it
  extra,            // makes a call that the others do not make, then the same ones
  reordered,        // makes it before the others' next call, and that after it
  other_gang,       // makes the call on another gang
  other_call,       // makes another call instead, as far as is known
  other_arguments,  // makes the call with other arguments
  returned,         // its program returns
};

// Where one rank leaves the others.
struct Deviation {
  int rank = 0;
  Deviance kind = Deviance::other_call;
  CallSummary did;          // of this rank alone; its call is empty if it returned
  CallSummary expected;     // what the others did there, and which; empty if they had returned
  CallSummary last_common;  // of all of them; its call is empty if there was none, or none is known
  std::uint64_t recorded = 0;  // not 0: it left them earlier, and of its calls so many are recorded
};

// Where two ranks part that have been there before.
struct Habit {
  CallSummary after;      // both called this,
  CallSummary usual;      // and both went on with this, as one of them, its rank, does now;
  CallSummary unusual;    // the other one does this; its call is empty if it returned
  std::size_t times = 0;  // so often, before
};

// A value. At most one of the first two is not empty.
struct Consensus {
  std::vector<Deviation> deviations;  // the earliest first, one for each rank
  std::vector<CallSummary> sides;     // two or more, where neither is in the majority
  std::optional<Habit> habit;         // of a world of two, without deviations
};

// Walks all ranks through their calls in step. What most of them do next is what is to be done; who
// does something else although his gang waits for that is the culprit. Where a whole gang does
// something else, it is another part of the program, compared by itself. A rank that is blocked, or
// whose call failed, says nothing about what it would have done next.
//
// Nobody is named where the evidence is no better than that: of a pair that meets nowhere else, and
// of messages between two ranks, either end may be wrong. `blocked`: of the same run.
// O(ranks x calls recorded of each).
Consensus find_consensus(const CallHistories& histories, const std::vector<BlockedCall>& blocked);

}  // namespace gang::sim
