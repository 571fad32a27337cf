// Makes the children of create_gang and split.
#pragma once

#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;
class Matching;

// Fills `slot.children` with the seat of each member of `parent`. O(n log n) for n members.
void make_children(Matching& matching, GangState& parent, MatchSlot& slot);

// Makes the calling rank's handle of its child and stores it in the operation's output.
void take_seat(World& world, PendingOperation& pending, ChildSeat seat);

}  // namespace gang::sim
