// How NCCL gangs are made: without a parent, and from NCCL gangs.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_member.h"
#include "gang/operation.h"

namespace gang {

// An operation under way, and the time it may take.
struct NcclCall {
  NcclPurpose purpose;
  TimePoint began;
  TimePoint deadline;
};
NcclCall nccl_call(const NcclMember& member, const Operation& operation);

// Makes a member that its device knows about.
std::shared_ptr<NcclMember> make_nccl_member(NcclMemberOptions options,
                                             const std::shared_ptr<NcclDevice>& device,
                                             std::unique_ptr<NcclCommunicator> communicator);

// The member of a gang that has no parent. Blocks until all have arrived. Throws GangError.
std::shared_ptr<NcclMember> make_root_member(const NcclMemberOptions& options,
                                             const std::shared_ptr<NcclDevice>& device);

// create_gang or split, on all members of `parent`: agrees on the members, and splits the
// communicator; null if this rank is in no child. `index` counts the children of `parent`.
// Throws GangError mismatch on every rank if the lists differ.
std::shared_ptr<NcclMember> make_child_member(NcclMember& parent, const NcclCall& call,
                                              const Operation& operation, std::uint64_t index);

// Returns when every member has arrived. Throws GangError timeout, which names those that have not
// (only the first of them, unless `wait_all_ranks`).
void run_monitored_barrier(NcclMember& member, const NcclCall& call, bool wait_all_ranks);

}  // namespace gang
