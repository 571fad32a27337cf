// Where the processes of a job meet.
#pragma once

#include <memory>

#include "gang/environment.h"
#include "gang/store/store.h"

namespace gang {

// A client of the store at MASTER_ADDR and MASTER_PORT, for this attempt of this job alone: its
// keys begin with "gangsim/RUN_ID/RESTART_COUNT", so that a restarted job does not meet its past.
// Blocks until all `world_size` processes have come, or the timeout has passed.
//
// Where torchrun's agent has a store there (TORCHELASTIC_USE_AGENT_STORE is True), everyone
// connects to it; else rank 0 hosts it: on loopback where MASTER_ADDR is, else on every interface.
// The process of rank 0 hosts it until the last client that it has made from the result is gone,
// and then until the others have left, for five seconds at most.
// A job of one process needs no address.
//
// Errors, each within the timeout: InvalidArgument (MASTER_ADDR or MASTER_PORT is missing; a
// timeout that is not positive; another process has the same rank, or was told another world size);
// StoreError timeout (says how many came and names ranks that did not), connection (nobody listens
// there), address_in_use (rank 0: names the port), dialect (who listens there is no such store).
// Limits: on several hosts, torchrun's restart counts may differ; then ranks do not meet.
// Source: PyTorch's torchrun and env:// documentation.
std::shared_ptr<Store> make_rendezvous_store(const Environment& environment, Duration timeout);

}  // namespace gang
