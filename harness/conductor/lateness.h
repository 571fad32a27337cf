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

// What rank `self` has waited for: all of `operations`, since `caller` of its process last spoke,
// and before that is answered. `processes`: by rank.
void note_lateness(LongWaits& waits, std::span<const std::shared_ptr<StartedOperation>> operations,
                   int self, Caller& caller,
                   std::span<const std::unique_ptr<RankProcess>> processes);

}  // namespace gang::harness
