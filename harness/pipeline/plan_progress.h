// Does a message plan come to its end, if sends wait for their receivers?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/pipeline/message_plan.h"

namespace gang::harness {

// When a send lets its rank go on.
enum class Sending : std::uint8_t {
  rendezvous,  // when it is received: the strictest
  buffered,    // at once, however many wait
};

// A rank that can never go on: the transfer that it waits in.
struct StuckRank {
  int rank = 0;
  PipelineTransfer transfer;
};

struct PlanProgress {
  // What happens otherwise than planned: a pass before its input has arrived, a message taken for
  // another, one that nobody receives. Empty where nothing does.
  std::string complaint;

  // Where the plan hangs: ranks each of which waits for the next, the last for the first. If it is
  // not a cycle, the last one waits for a rank that has ended.
  std::vector<StuckRank> counterexample;

  bool completes() const noexcept { return complaint.empty() && counterexample.empty(); }
};

// Runs `plan` with messages alone. The order in which ranks go on does not matter: messages match
// first in, first out per (source, destination, tag), and no receive takes from any source; so one
// run is a proof, for every timing.
PlanProgress check_progress(const MessagePlan& plan, Sending sending);

// "rank 0 sends activation for 1F1 to rank 1", a line per rank of the counterexample.
std::string to_string(const StuckRank& stuck);

}  // namespace gang::harness
