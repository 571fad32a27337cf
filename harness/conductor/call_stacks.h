// The stacks that processes tell of when a run hangs.
#pragma once

#include <memory>
#include <span>

#include "harness/conductor/messages.h"
#include "harness/conductor/rank_process.h"
#include "sim/report/report.h"

namespace gang::harness {

// Adds a stack to a blocked context; of one that `is_outside` of calls, its first frame is where it
// is.
void add_stack(const StackMessage& stack, sim::BlockedCall& blocked, bool is_outside);

// What a watcher has told of the threads of `process`, which may be one process with other ranks of
// `processes`: then of the threads that call as this one, if any is among them. Empty if nobody
// has.
StackMessage watched_stack(const RankProcess& process,
                           std::span<const std::unique_ptr<RankProcess>> processes);

}  // namespace gang::harness
