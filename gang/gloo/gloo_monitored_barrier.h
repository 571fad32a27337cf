// A barrier that says which ranks are missing, which Gloo's does not.
#pragma once

#include "gang/gloo/gloo_member.h"

namespace gang {

// Every member tells every other that it has arrived. Throws GangError timeout, whose
// ranks_at_fault are those that this rank has not heard from by the deadline (only the first of
// them, unless `wait_all_ranks`). For gangs of at least two members.
void run_monitored_barrier(GlooMember& member, const GlooCall& call, bool wait_all_ranks);

}  // namespace gang
