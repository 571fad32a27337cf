// Gangs made from gangs, and gangs beside gangs.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

std::vector<Property> gangs_compose(const Subject& subject = {});

}  // namespace gang::properties
