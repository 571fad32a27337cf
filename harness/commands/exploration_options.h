// The options of `explore`, and of `torch` and `python` with --explore, that choose the runs.
#pragma once

#include <iosfwd>
#include <string>

#include "gang/duration.h"
#include "harness/commands/option.h"
#include "harness/run/exploration.h"

namespace gang::harness {

// --strategy and --budget; set `options`, which outlives them.
Option strategy_option(ExplorationOptions& options);
Option budget_option(ExplorationOptions& options);

// Throws InvalidArgument if runs of `world_size` ranks cannot be chosen by that strategy.
void check_strategy(const ExplorationOptions& options, const RunSpecification& specification,
                    int world_size);

// Of an exploration that goes on, for a terminal: "12,345 of 100,000 runs, 310,000/s, at most 1 s
// left", and what its faults came to. `elapsed` since it began.
std::string progress_text(const ExplorationOptions& options, const ExplorationCoverage& coverage,
                          Duration elapsed);

// Writes that over the last line of a terminal, beginning from now. `out` and `options` outlive it.
ExplorationProgress terminal_progress(std::ostream& out, const ExplorationOptions& options);

}  // namespace gang::harness
