// Members of NCCL gangs meet through a Store.
#pragma once

#include <memory>

#include "gang/nccl/nccl_meeting.h"
#include "gang/runtime.h"
#include "gang/store/store.h"

namespace gang {

// Rank 0 of a meeting gathers what the others say and hands it out: O(size) calls in all. Time is
// `runtime`'s.
std::shared_ptr<NcclMeeting> make_store_meeting(std::shared_ptr<Store> store,
                                                std::shared_ptr<Runtime> runtime);

}  // namespace gang
