// The meaning of each collective, computed once per operation.
#pragma once

#include <cstdint>
#include <span>

#include "sim/state/gang_state.h"

namespace gang::sim {

class ReductionPool;

// Writes the results of `members` (all of them, in rank order, calling the same operation) directly
// into their outputs. Reductions are in rank order, left-associated. Large ones use `pool`, which
// does not affect the result. Group creation is handled elsewhere.
void compute_result(std::span<PendingOperation* const> members, ReductionPool& pool);

// The same for a small operation with one result, and data: from the values that the members have
// left in their seats, into the slot.
void compute_in_slot(MatchSlot& slot);

// Whether, in this all_to_all, some rank sends another an amount that the receiver does not expect.
bool has_pairwise_mismatch(const MatchSlot& slot);

}  // namespace gang::sim
