// Whether a process can go on by itself.
#pragma once

#include "harness/conductor/rank_process.h"

namespace gang::harness {

// Whether each thread of the process waits, for our answer to its call or, without a timeout, for
// another thread of the process (a lock, a condition, a join, as Linux shows them: private
// futexes). So it stays until it is answered, unless a signal comes. `thread` is looked at first:
// the one that should speak; 0: the main one.
//
// False where the system does not tell, and of a process that is several ranks.
bool is_at_rest(const RankProcess& process, pid_t thread = 0);

}  // namespace gang::harness
