// How the members of an NCCL gang that are still there continue without the others.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/call_site.h"
#include "gang/nccl/nccl_member.h"
#include "gang/operation.h"

namespace gang {

// Gang::shrink on `member`, with a grace. Blocks; returns the member of the shrunk gang. `index`
// counts the gangs made from this one. Throws GangError: peer_failed if the others have continued
// without this member, another kind if they cannot meet.
std::shared_ptr<NcclMember> make_shrunk_member(NcclMember& member, const ShrinkOptions& options,
                                               const CallSite& call_site, std::uint64_t index);

}  // namespace gang
