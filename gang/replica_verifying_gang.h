// A decorator that finds results that should be the same on every rank and are not.
#pragma once

#include <memory>

#include "gang/gang.h"

namespace gang {

// Wraps `inner`: after each blocking operation that leaves the same data on every rank (all_reduce,
// all_gather, all_gather_to_list, broadcast, broadcast_objects), the members exchange a checksum of
// it. Where they differ, each member gets GangError corrupt, which names the ranks that have
// another result than most (all of them, where there is no majority), and the gang is broken.
// Started operations are passed on as they are. Gangs made from it verify too.
//
// What it cannot find: data that was wrong before it was contributed, since then all get the same.
// Cost of each such operation: a pass over its result and an all_gather of 8 bytes per rank.
// Ownership: shares `inner`; closing and aborting it does the same to `inner`. Threads: as Gang.
std::shared_ptr<Gang> make_replica_verifying_gang(std::shared_ptr<Gang> inner);

}  // namespace gang
