// How the members of a gang that are still there agree on a gang of their own.
#pragma once

#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// A member's call of Gang::shrink. Blocks; returns its seat in the shrunk gang. Called under the
// engine's Guard. Throws what Gang::shrink says.
ChildSeat shrink_gang(World& world, GangState& gang, int member, const ShrinkOptions& options,
                      const CallSite& call_site);

// The rank will call nothing any more: nobody waits for it, and `gang` goes on without it.
void leave_shrinking(World& world, GangState& gang, int root_rank);

}  // namespace gang::sim
