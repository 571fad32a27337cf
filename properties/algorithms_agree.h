// Operations composed of others give the same results.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// The algebra of the collectives, on any gang, type, root and reduce operation, with inputs that
// are exact in every order of reduction.
std::vector<Property> algorithms_agree(const Subject& subject = {});

}  // namespace gang::properties
