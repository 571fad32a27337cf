// A cycle of contexts that wait for each other.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/state/gang_state.h"
#include "sim/verdict/blocked_world.h"

namespace gang::sim {

// The contexts of a cycle, and what each waits for within it.
struct Cycle {
  std::vector<const Task*> contexts;
  std::vector<const PendingOperation*> operations;  // null if a context waits for none
};

// A cycle through a core of the graph; empty if the core has no context.
Cycle cycle_of(const BlockedWorld& blocked, const std::vector<WaitGraph::Node>& core);

// Ascending, each once.
std::vector<int> sorted_ranks(std::vector<int> ranks);
std::vector<int> ranks_of(const Cycle& cycle);

// The gangs on the cycle, including those ahead on a stream. Here and below, all of its operations
// are known.
std::set<std::string> gangs_of(const Cycle& cycle);

// Whether an operation of it is queued on a stream.
bool has_queued(const Cycle& cycle);

// "0 → 1 → 2 → 0"; the beginning and the end of a long one.
std::string cycle_path(const Cycle& cycle);

// Two operations that members of both gangs wait in.
struct Sides {
  const MatchSlot* fewer = nullptr;
  const MatchSlot* more = nullptr;
  std::vector<int> in_fewer;  // root ranks
  std::vector<int> in_more;
};

// The call of one member that has arrived.
const PendingOperation& any_call(const MatchSlot& slot);

// Members that have arrived at an operation, or have not: root ranks, ascending.
std::vector<int> ranks_at(const MatchSlot& slot, bool have_come);

// The two sides of a cycle through two collectives, where one has fewer members than the other.
std::optional<Sides> uneven_sides(const Cycle& cycle);

}  // namespace gang::sim
