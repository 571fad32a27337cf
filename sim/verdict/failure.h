// Ranks that fail, and how that becomes a finding.
#pragma once

#include <exception>
#include <string>

#include "sim/state/gang_state.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

struct World;

// `error` has left the program (or a context that nobody joined) of `task`'s rank: a finding, or a
// consequence of the one that the rank was told of. Breaks every gang of the rank, so that nobody
// waits for it.
void report_rank_failure(World& world, Task& task, const std::exception_ptr& error);

// Findings for gangs that are still open after the programs have ended.
void report_open_gangs(World& world);

// Whether the calls of ranks reach SimGangs, which note them.
bool knows_last_calls(const World& world);

// "all_reduce #3 on dp[0,2] at train.cc:41": `call`, which is one of the rank's.
std::string call_text(const RankState& rank, const LastCall& call);

}  // namespace gang::sim
