// The options of `explore`, and of `torch` and `python` with --explore, that choose the runs.
#pragma once

#include "harness/commands/option.h"
#include "harness/run/exploration.h"

namespace gang::harness {

// --strategy and --budget; set `options`, which outlives them.
Option strategy_option(ExplorationOptions& options);
Option budget_option(ExplorationOptions& options);

// Throws InvalidArgument if runs of `world_size` ranks cannot be chosen by that strategy.
void check_strategy(const ExplorationOptions& options, const RunSpecification& specification,
                    int world_size);

}  // namespace gang::harness
