// Why a gang failed that another backend implements.
#pragma once

#include <exception>
#include <memory>

#include "sim/state/gang_state.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

struct World;

// The cause of `error`, which ends the program of `rank`: that of the gang, shared by all ranks
// whose programs it ends. The first member to ask settles it: a member that has failed or aborted
// the gang, one whose program has returned, calls that differ, a timeout, or whom the error names.
// Null if none of these is known, or if `error` is no GangError of a gang of this rank's.
//
// SimGangs need none of this: they know why they broke.
std::shared_ptr<const BreakCause> cause_of_failure(const World& world, const RankState& rank,
                                                   const std::exception_ptr& error);

}  // namespace gang::sim
