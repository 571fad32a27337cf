// Failures: how a rank is told of one, and how one becomes a finding.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/gang_state.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

class Engine;

// Throws the GangError of a failed operation at its rank.
[[noreturn]] void throw_gang_error(Engine& engine, const PendingOperation& pending);

// `error` has left the program (or an unjoined context) of `task`'s rank: a finding, or a
// consequence of the one that the rank was told of. Breaks every gang of the rank, so that nobody
// waits for it.
void report_rank_failure(Engine& engine, Task& task, const std::exception_ptr& error);

// A work was dropped while an exception left the program: its gang cannot go on.
void break_by_unwinding(Engine& engine, GangState& gang, const PendingOperation& pending);

// The monitored barrier `pending` has waited long enough: breaks its gang and names who is missing.
void fail_monitored_barrier(Engine& engine, const PendingOperation& pending);

// `missing` are ranks of the gang. The odd ones are those, or those who came, if they are fewer.
Finding timeout_finding(const Engine& engine, const GangState& gang,
                        const PendingOperation& pending, const std::vector<int>& missing);

// Fills in what a timeout of `pending` says, from `cause.ranks_at_fault`: its finding, which waits
// until it ends a program where faults have happened.
void set_timeout(Engine& engine, const PendingOperation& pending, BreakCause& cause);

// Findings for gangs that are still open after the programs have ended.
void report_open_gangs(Engine& engine);

// Cuts the gang handles that live on from the run.
void detach_gangs(RankState& rank) noexcept;

// The last operation that the rank has called so far.
LastCall last_call_of(const RankState& rank);

// Whether the calls of ranks come to SimGangs, which note them.
bool knows_last_calls(const Engine& engine);

// "all_reduce #3 on dp[0,2] at train.cc:41": `call`, which is one of the rank's.
std::string call_text(const RankState& rank, const LastCall& call);

// "rank 3", "ranks 0-3,8": members of `gang` as root ranks.
std::string describe_members(const GangState& gang, const std::vector<int>& members);

}  // namespace gang::sim
