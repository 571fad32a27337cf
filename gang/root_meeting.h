// How the processes of a root gang meet.
#pragma once

#include <memory>

#include "gang/environment.h"
#include "gang/store/store.h"

namespace gang {

// As make_rendezvous_store, but a StoreError becomes the failure of the gang that is being made:
// GangError timeout, connection or corrupt.
std::shared_ptr<Store> meet_as_root_gang(const Environment& environment, Duration timeout);

}  // namespace gang
