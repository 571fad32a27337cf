// The meaning of each collective, computed once per operation.
#pragma once

#include <span>
#include <vector>

#include "sim/state/gang_state.h"

namespace gang::sim {

class ReductionPool;

// Writes what `members` (all of them, in rank order, calling the same operation) are to receive,
// straight into their outputs. Reductions are in rank order, left-associated. Large ones use
// `pool`; the result does not depend on it. Group creation is elsewhere.
void compute_result(std::span<PendingOperation* const> members, ReductionPool& pool);

// The reduction of `values` (one per rank, `call.count` elements each) into `result`; `values` are
// used up.
void reduce_inline(const Collective& call, std::span<InlineValue> values, InlineValue& result);

// Whether what some rank sends to another in an all_to_all with splits is not what that one
// expects.
bool has_pairwise_mismatch(const MatchSlot& slot);

}  // namespace gang::sim
