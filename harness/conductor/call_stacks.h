// The stacks that processes tell of when a run hangs.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "harness/conductor/messages.h"
#include "harness/conductor/rank_process.h"
#include "harness/conductor/turns.h"
#include "sim/report/report.h"

namespace gang::harness {

// Adds a stack to a blocked context; of one that `is_outside` of calls, its first frame is where it
// is.
void add_stack(const StackMessage& stack, sim::BlockedCall& blocked, bool is_outside);

// Whether a blocked context is that of a thread outside of any call, stuck or at rest.
bool is_outside_of_calls(const sim::BlockedCall& blocked, const Turns& turns);

// The finding that ranks stand outside of any call, with all their threads, which is why no other
// can go on; none if there are no such ranks. After the stacks were added.
std::optional<sim::Finding> ranks_outside_of_calls(const sim::Report& report, const Turns& turns);

// What a watcher has told of the threads of `process`, which may be one process with other ranks of
// `processes`: then of the threads that call as this one, if any is among them. Empty if nobody
// has.
StackMessage watched_stack(const RankProcess& process,
                           std::span<const std::unique_ptr<RankProcess>> processes);

}  // namespace gang::harness
