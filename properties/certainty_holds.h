// What a report claims of other runs is true of them.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// Suite certainty: what is said to happen in every schedule happens in 200 random ones, and in all
// where there are few, with and without buffers.
std::vector<Property> certainty_holds(const Subject& subject = {});

}  // namespace gang::properties
