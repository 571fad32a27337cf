// Ranks that are served through the conductor's protocol, against ranks in process.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// Suite remote_runs_agree: a program gives the same trace, results and findings whether its ranks
// run in the simulator or are clients of a conductor. `subject` wraps the clients' gangs.
std::vector<Property> remote_runs_agree(const Subject& subject = {});

}  // namespace gang::properties
