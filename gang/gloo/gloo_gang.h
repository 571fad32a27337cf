// The root gang over Gloo, where it is built.
#pragma once

#include <memory>

#include "gang/environment.h"
#include "gang/gang.h"
#include "gang/root_gang.h"

namespace gang {

// The gang of all processes of the job, on cpu. Blocks until all have come. Errors as
// setup_root_gang.
std::shared_ptr<Gang> make_gloo_root_gang(const Environment& environment,
                                          const RootGangOptions& options);

}  // namespace gang
