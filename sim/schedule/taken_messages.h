// Which messages the receives from any source of a run have taken.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/schedule/reversals.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

struct TakenMessage {
  TakenByAny receive;
  Access message;
  std::string sender;  // the name of its context; empty: a rank's program
};

// In the order in which they were taken.
std::vector<TakenMessage> taken_messages(const StepLog& log);

// The first receive of `one`, in its order, that has taken another message in `other`: as a contest
// that `one` decides so, and `other` in the other way. None: each receive of a rank that both runs
// have made has taken the same message.
std::optional<Contest> taken_otherwise(std::span<const TakenMessage> one,
                                       std::span<const TakenMessage> other);

}  // namespace gang::sim
