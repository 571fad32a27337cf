// How members of NCCL gangs meet through a Store.
#pragma once

#include <memory>

#include "gang/nccl/nccl_meeting.h"
#include "gang/runtime.h"
#include "gang/store/store.h"

namespace gang {

// Rank 0 of a meeting gathers and distributes what is said, in O(size) calls. Uses `runtime` for
// time.
std::shared_ptr<NcclMeeting> make_store_meeting(std::shared_ptr<Store> store,
                                                std::shared_ptr<Runtime> runtime);

}  // namespace gang
