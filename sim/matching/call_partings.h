// Collectives that some members of a gang call in another order than the rest, unnoticed.
#pragma once

#include "sim/state/gang_state.h"

namespace gang::sim {

// `slot`, of the gang's last call, is about to complete, and its members called it in different
// places. Keeps where, and adds to `world.crossed_calls` if members have changed places since an
// earlier operation: those that called it at one place then are now at the other, and the other way
// round. That takes an operation without a root, since the roles of a root and the others may
// change rightly, and data. O(members).
void note_parting(World& world, GangState& gang, const MatchSlot& slot);

}  // namespace gang::sim
