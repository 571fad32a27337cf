// Where the processes of a job meet.
#pragma once

#include <memory>

#include "gang/environment.h"
#include "gang/store/store.h"

namespace gang {

// A client of the store at MASTER_ADDR and MASTER_PORT, for this attempt of this job only: its keys
// begin with "gangsim/RUN_ID/RESTART_COUNT", so that a restarted job does not meet its former self.
// Blocks until all `world_size` processes have come, or the timeout has passed.
//
// If torchrun's agent has a store there (TORCHELASTIC_USE_AGENT_STORE is True), all processes
// connect to it. Otherwise rank 0 hosts the store: on loopback if MASTER_ADDR is, else on every
// interface. The process of rank 0 hosts it until the last client that it made from the result is
// gone, and then until the others have left, for at most five seconds. A job of one process needs
// no address.
//
// Errors, each within the timeout: InvalidArgument (MASTER_ADDR or MASTER_PORT is missing; the
// timeout is not positive; another process has the same rank, or a different world size);
// StoreError timeout (says how many ranks came and names those that did not), connection (nothing
// listens there), address_in_use (on rank 0; names the port), dialect (the peer at that address is
// not a store). Limits: on several hosts, torchrun's restart counts may differ; then ranks do not
// meet. Source: PyTorch's torchrun and env:// documentation.
std::shared_ptr<Store> make_rendezvous_store(const Environment& environment, Duration timeout);

}  // namespace gang
