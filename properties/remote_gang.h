// Gangs of a rank that is served by a conductor.
#pragma once

#include <memory>

#include "gang/gang.h"
#include "harness/conductor/client.h"

namespace gang::properties {

// The gang of all ranks. Every operation on it, and on gangs made from it, is a request of
// `client`, which must outlive them; what the protocol lacks is NotSupported: batches, objects, and
// lists of tensors on all ranks. An operation that fails throws Error with the text that the
// conductor sent. The conductor closes the gangs.
std::shared_ptr<Gang> make_remote_root(harness::Client& client);

}  // namespace gang::properties
