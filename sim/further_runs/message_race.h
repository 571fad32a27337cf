// Whether it matters which message a receive from any source takes, settled by further runs.
#pragma once

#include <optional>

#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::sim {

// The options of the run in which the receive of `candidate` takes the other message.
SimulationOptions forcing_options(const SimulationOptions& options, const RaceCandidate& candidate);

// The finding message_race if in the run `forced`, with forcing_options, the receive took the other
// message and that made a difference: it ended otherwise than completed without findings, or
// `outputs_differ`. Nothing if the other message cannot come first, or if it makes none.
std::optional<Finding> message_race(const RaceCandidate& candidate, const Report& forced,
                                    bool outputs_differ);

}  // namespace gang::sim
