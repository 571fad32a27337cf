// How the remaining members of a gang agree on a new gang.
#pragma once

#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// A member's call of Gang::shrink. Blocks; returns its seat in the shrunk gang. Called under the
// engine's Guard. Throws as documented for Gang::shrink.
ChildSeat shrink_gang(World& world, GangState& gang, int member, const ShrinkOptions& options,
                      const CallSite& call_site);

// When the members of `gang` that are waiting in shrink stop waiting for others; TimePoint::max()
// if all who came have gone again.
TimePoint end_of_grace(const GangState& gang);

// That time has come: they go on without the others.
void shrink_to_those_present(World& world, GangState& gang);

// The rank will make no more calls: no member waits for it, and `gang` continues without it.
void leave_shrinking(World& world, GangState& gang, int root_rank);

}  // namespace gang::sim
