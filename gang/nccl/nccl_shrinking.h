// How the members of an NCCL gang that are still there go on without the others.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/call_site.h"
#include "gang/nccl/nccl_member.h"
#include "gang/operation.h"

namespace gang {

// A member's call of Gang::shrink, with a grace. Blocks; the member of the shrunk gang. `index`
// counts the gangs made from this one. Throws GangError peer_failed where the others have gone on
// without this member, or what else keeps them from meeting.
std::shared_ptr<NcclMember> make_shrunk_member(NcclMember& member, const ShrinkOptions& options,
                                               const CallSite& call_site, std::uint64_t index);

}  // namespace gang
