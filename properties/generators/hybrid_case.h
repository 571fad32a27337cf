// Random hybrid-parallel training runs.
#pragma once

#include <string>
#include <vector>

#include "harness/pipeline/hybrid_plan.h"
#include "harness/run/run_specification.h"
#include "properties/law.h"

namespace gang::properties {

// A run that the program hybrid accepts.
struct HybridCase {
  harness::HybridOptions options;
  std::uint64_t seed = 1;  // of the schedule; 0: round robin

  friend bool operator==(const HybridCase&, const HybridCase&) = default;
};

HybridCase generate_hybrid(Draw& draw);
std::string to_text(const HybridCase& one);
std::vector<HybridCase> shrinks(const HybridCase& one);

// The run as the harness takes it.
harness::RunSpecification specification_of(const HybridCase& one);

}  // namespace gang::properties
