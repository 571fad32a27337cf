// Streams of ranks: under stream order, what a rank launches waits for what it has launched before.
#pragma once

#include "sim/state/pending_operation.h"
#include "sim/state/world.h"

namespace gang::sim {

// Puts the operation behind what its rank has launched before; returns whether that is nothing.
// Contexts of one rank that launch do so in an order that matters.
bool launch(PendingOperation& pending);

// Under stream order: a program looks whether an operation has ended, or a gang breaks while some
// may be under way. Does nothing otherwise.
void note_look_at_streams(World& world);
void note_break_of_streams(World& world);

}  // namespace gang::sim
