// Where the members of a gang diverge: their last common call, and the next ones side by side.
#pragma once

#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// What the members did at one operation of `gang`, and their last common call. `members` by rank in
// the gang; for null entries, which have not arrived, says what they did instead. Members that did
// the same share an entry; if there are too many entries, the last holds the rest. Valid for the
// oldest operation that has not completed. O(members).
Divergence first_divergence(const World& world, const GangState& gang,
                            std::span<PendingOperation* const> members);

// Sets what the members of `gang` called in common before `next`, which one of them made: the last
// call, unless there was none or it is no longer known, and since which one they were in different
// places. O(members).
void add_common_past(const GangState& gang, const Collective& next, Divergence& divergence);

}  // namespace gang::sim
