// What a run with rendezvous sends proves of runs with buffered ones.
#pragma once

#include "sim/options/simulation_options.h"
#include "sim/report/report.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// Whether a run that holds, with `options` and rendezvous sends, holds with buffered ones too,
// whatever their buffers take: then a send only lets its caller go on earlier, and nothing that the
// program does depends on how far others are. So it is where each receive names its source, each
// rank has one context, and nobody tests an operation, uses a store or lets time pass; false where
// anything else happens, and where no message is sent.
//
// With a receive from any source it is not so: rank 1 sends to 2, then to 0; rank 2 sends to 0,
// then receives from 1. With rendezvous, rank 2's message comes to rank 0 first; with buffers,
// either.
//
// Source: a network of processes that each read named channels ends in one way whatever the order
// of their steps: Kahn, "The semantics of a simple language for parallel programming", 1974; and
// does not block more often with larger buffers: Parks, "Bounded Scheduling of Process Networks",
// 1995.
bool holds_with_buffered_sends(const SimulationOptions& options, const Report& report,
                               const StepLog& log) noexcept;

}  // namespace gang::sim
