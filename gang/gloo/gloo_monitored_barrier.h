// A barrier that says who is missing, which Gloo's does not.
#pragma once

#include "gang/gloo/gloo_member.h"

namespace gang {

// Every member tells every other that it is there. Throws GangError timeout whose ranks_at_fault
// are those that have not come to this rank by the deadline (the first of them, unless
// `wait_all_ranks`). For gangs of at least two members.
void run_monitored_barrier(GlooMember& member, const GlooCall& call, bool wait_all_ranks);

}  // namespace gang
