// A decorator that finds results that differ between ranks but should not.
#pragma once

#include <memory>

#include "gang/gang.h"

namespace gang {

// Wraps `inner`: after each blocking operation that leaves the same data on every rank (all_reduce,
// all_gather, all_gather_to_list, broadcast, broadcast_objects), the members exchange a checksum of
// it. If the checksums differ, each member gets GangError corrupt, which names the ranks whose
// result is not that of the majority (all of them if there is no majority), and the gang is broken.
// Started operations are passed on unchanged. Gangs made from it verify too.
//
// It cannot find data that was wrong before it was contributed, since all ranks then get the same.
// Cost of each such operation: a pass over its result and an all_gather of 8 bytes per rank.
// Ownership: shares `inner`, which is closed and aborted with this gang. Threads: as Gang.
std::shared_ptr<Gang> make_replica_verifying_gang(std::shared_ptr<Gang> inner);

}  // namespace gang
