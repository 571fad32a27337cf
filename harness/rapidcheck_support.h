// Properties of gang programs with RapidCheck: a simulation per case.
#pragma once

#include <rapidcheck.h>

#include <functional>

#include "harness/harness.h"

namespace gang::harness {

// Within a RapidCheck property: runs `body` on every rank of `specification` and returns the
// result. Fails the case, with the report as message, unless it holds; shrinking goes on from
// there.
//
//   rc::check("the mean is the same on every rank", [] {
//     const int world = *rc::gen::inRange(1, 17);
//     gang::harness::check_holds({.world_size = world}, [](gang::harness::Rank& rank) { ... });
//   });
RunResult check_holds(const RunSpecification& specification,
                      const std::function<void(Rank&)>& body);

}  // namespace gang::harness
