// A run is a function of its program, options and seed.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// Same seed, replayed schedule, fibers and threads give the same trace and results; other schedules
// the same results.
std::vector<Property> runs_replay(const Subject& subject = {});

}  // namespace gang::properties
