// Checks that a message plan completes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/pipeline/message_plan.h"

namespace gang::harness {

// When a send lets its rank continue.
enum class Sending : std::uint8_t {
  rendezvous,  // when it is received: the strictest
  buffered,    // at once, however many messages are waiting
};

// A rank that can never continue, and the transfer in which it waits.
struct StuckRank {
  int rank = 0;
  PipelineTransfer transfer;
};

struct PlanProgress {
  // What deviates from the plan: a pass before its input has arrived, a message taken for another,
  // or one that no rank receives. Empty if nothing does.
  std::string complaint;

  // Where the plan hangs: ranks that each wait for the next one, and the last for the first. If it
  // is not a cycle, the last one waits for a rank that has finished.
  std::vector<StuckRank> counterexample;

  bool completes() const noexcept { return complaint.empty() && counterexample.empty(); }
};

// Runs only the messages of `plan`. The order in which ranks continue does not matter: messages
// match first in, first out per (source, destination, tag), and no receive takes from any source,
// so one run is a proof for every timing.
PlanProgress check_progress(const MessagePlan& plan, Sending sending);

// "rank 0 sends activation for 1F1 to rank 1", a line per rank of the counterexample.
std::string to_string(const StuckRank& stuck);

}  // namespace gang::harness
