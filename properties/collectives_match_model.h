// Every operation does what the reference model says it means.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// One property per operation (any world, gang, shape, type, root and reduce operation, blocking and
// started, under any schedule, execution model and send mode), and one for whole programs.
std::vector<Property> collectives_match_model(const Subject& subject = {});

}  // namespace gang::properties
