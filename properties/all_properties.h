// The list of properties.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// Every property of every suite, in the order in which `gangsim check` shows them.
std::vector<Property> all_properties(const Subject& subject = {});

// The properties of gangs as such, on simulated gangs over Gloo's algorithms (backend "sim-gloo").
// The rest of `all_properties` is about the simulator's own matching.
std::vector<Property> properties_over_gloo();

// The same on a simulated NCCL (backend "sim-nccl").
std::vector<Property> properties_over_nccl();

}  // namespace gang::properties
