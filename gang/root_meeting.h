// The meeting of the processes that become a root gang.
#pragma once

#include <memory>

#include "gang/environment.h"
#include "gang/store/store.h"

namespace gang {

// make_rendezvous_store; what goes wrong there is the failure of the gang that is being made:
// throws GangError (timeout, connection, corrupt) where that throws StoreError.
std::shared_ptr<Store> meet_as_root_gang(const Environment& environment, Duration timeout);

}  // namespace gang
