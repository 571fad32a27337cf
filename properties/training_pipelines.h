// Pipeline and hybrid parallel training, on random layouts.
#pragma once

#include <vector>

#include "harness/programs/all_programs.h"
#include "properties/property.h"

namespace gang::properties {

// Laws of the program hybrid: the real one, unless a test plants another.
std::vector<Property> training_pipelines(
    const harness::Program& hybrid = harness::hybrid_program());

}  // namespace gang::properties
