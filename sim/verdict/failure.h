// Ranks that fail, and how that becomes a finding.
#pragma once

#include <exception>
#include <string>

#include "sim/state/gang_state.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

struct World;

// Handles an `error` that left the program of `task`'s rank, or a context that was not joined: adds
// a finding, or a consequence of the finding that the rank already failed with. Breaks every gang
// of the rank, so that no other rank waits for it.
void report_rank_failure(World& world, Task& task, const std::exception_ptr& error);

// Findings for gangs that are still open after the programs have ended.
void report_open_gangs(World& world);

// "all_reduce #3 on dp[0,2] at train.cc:41": `call`, which is one of the rank's.
std::string call_text(const RankState& rank, const LastCall& call);

}  // namespace gang::sim
