// How NCCL gangs are made: from nothing, and from NCCL gangs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_member.h"
#include "gang/operation.h"

namespace gang {

// What is under way, and until when.
struct NcclCall {
  NcclPurpose purpose;
  TimePoint began;
  TimePoint deadline;
};
NcclCall nccl_call(const NcclMember& member, const Operation& operation);

// A member that its device knows of.
std::shared_ptr<NcclMember> make_nccl_member(NcclMemberOptions options,
                                             const std::shared_ptr<NcclDevice>& device,
                                             std::unique_ptr<NcclCommunicator> communicator);

// The member of a gang that comes from no other. Blocks until all have come. Throws GangError.
std::shared_ptr<NcclMember> make_root_member(const NcclMemberOptions& options,
                                             const std::shared_ptr<NcclDevice>& device);

// create_gang or split, on all members of `parent`: agrees on who is in, and splits the
// communicator; null where this rank is in no child. `index` counts the children of `parent`.
// Throws GangError mismatch on every rank where the lists differ.
std::shared_ptr<NcclMember> make_child_member(NcclMember& parent, const NcclCall& call,
                                              const Operation& operation, std::uint64_t index);

// Every member is there, or GangError timeout names who is not (the first of them, unless
// `wait_all_ranks`).
void run_monitored_barrier(NcclMember& member, const NcclCall& call, bool wait_all_ranks);

}  // namespace gang
