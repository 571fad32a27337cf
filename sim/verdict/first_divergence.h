// Where the members of a gang part: the last call in common, and the next ones side by side.
#pragma once

#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// What the members did at one operation of `gang`, and what they had in common before. `members`
// by rank in the gang; null: has not come, and what it did instead is told. Members in the same
// call, or doing the same instead, are one entry; where there would be more than a few, the last
// holds the rest. Valid for the oldest operation that has not completed. O(members).
Divergence first_divergence(const World& world, const GangState& gang,
                            std::span<PendingOperation* const> members);

// By member: what it has left behind; null for members that have not let go of their handle, or
// called nothing. Valid until the next departure. O(members).
std::vector<const Departure*> departures_by_member(const GangState& gang);

// The last call that the members of `gang` had in common before `next`, one of them; its operation
// is empty where there was none, or where it is not known any more.
CallSummary last_common_call(const GangState& gang, const Collective& next);

}  // namespace gang::sim
