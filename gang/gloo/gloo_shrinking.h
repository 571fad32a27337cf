// How the members of a Gloo gang that are still there come to a gang of their own.
#pragma once

#include <memory>

#include "gang/call_site.h"
#include "gang/gloo/gloo_member.h"
#include "gang/operation.h"

namespace gang {

// Gang::shrink on this member of `gang`. Members leave notes that they are there; the first list of
// them that is noted counts, for all. Whoever dies over TCP is not known to be gone, but closed: a
// member that does not come costs the grace. `index`: of the new gang's default name.
//
// The new gang is connected within the grace; where that fails, since another member has gone
// meanwhile, it is broken from the first, for everyone: it can be shrunk in turn. Its prefix is
// that of `gang` and a generation, so that members of former ones never meet it.
// Throws GangError: peer_failed where the others have gone on without this member, connection where
// notes cannot be left.
std::shared_ptr<GlooMember> make_shrunk_member(GlooMember& gang, const ShrinkOptions& options,
                                               const CallSite& call_site, std::uint64_t index);

}  // namespace gang
