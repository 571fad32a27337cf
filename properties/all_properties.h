// The list of properties.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// Every property of every suite, in the order in which `gangsim check` shows them.
std::vector<Property> all_properties(const Subject& subject = {});

}  // namespace gang::properties
