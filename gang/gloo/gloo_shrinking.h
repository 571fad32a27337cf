// How the members of a Gloo gang that are still there make a new gang.
#pragma once

#include <memory>

#include "gang/call_site.h"
#include "gang/gloo/gloo_member.h"
#include "gang/operation.h"

namespace gang {

// Gang::shrink on this member of `gang`. Members leave notes that they are there; the first list of
// them that is noted counts for all. Over TCP, a member that died is not known to be gone, only to
// have closed its connections: one that does not come costs the grace. `index` is for the new
// gang's default name.
//
// The new gang is connected within the grace. If that fails because another member has gone in the
// meantime, the new gang is broken from the start, for everyone, and can be shrunk in turn. Its
// prefix is that of `gang` plus a generation, so that members of earlier gangs never meet it.
// Throws GangError: peer_failed if the others have continued without this member, connection if
// notes cannot be left.
std::shared_ptr<GlooMember> make_shrunk_member(GlooMember& gang, const ShrinkOptions& options,
                                               const CallSite& call_site, std::uint64_t index);

}  // namespace gang
