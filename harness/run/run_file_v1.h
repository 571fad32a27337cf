// Run files of version 1.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace gang::harness {

// A saved run of version 1 as one of version 2, as far as the two differ; anything else in it as it
// is, also what is wrong. Throws InvalidArgument naming the field that it needs and is missing or
// of another type.
nlohmann::json upgraded_from_v1(nlohmann::json run);

}  // namespace gang::harness
