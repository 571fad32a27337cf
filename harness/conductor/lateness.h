// Which rank an operation waited for, and whether for too long.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "harness/conductor/long_waits.h"
#include "harness/conductor/rank_process.h"
#include "harness/conductor/started_operation.h"

namespace gang::harness {

// The members of the gang, as root ranks, whose part in the collective `self` has to wait for on
// any backend.
std::vector<int> awaited_ranks(const OperationMessage& call, const GangInfo& gang, int self);

// Of an operation of rank `self` that has ended without an error, and that its process has waited
// for since `begin`; before the process is answered. `processes`: by rank.
void note_lateness(LongWaits& waits, const StartedOperation& operation, int self,
                   TimeOutside::Clock::time_point begin,
                   std::span<const std::unique_ptr<RankProcess>> processes);

}  // namespace gang::harness
