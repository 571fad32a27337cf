// Small simulated worlds in which something goes wrong.
#pragma once

#include <memory>
#include <vector>

#include "sim/faults/fault_plan.h"
#include "tests/sim/worlds.h"

namespace gang::sim::test {

// A world with these faults, drawn, and ten seconds for every operation.
inline SimulationOptions with(int world_size, std::vector<Fault> faults) {
  SimulationOptions options;
  options.world_size = world_size;
  options.timeout = 10s;
  options.faults =
      std::make_shared<const FaultPlan>(draw({.faults = std::move(faults)}, 1, world_size));
  return options;
}

// Three barriers on the root gang.
inline void three_barriers(SimulatedRank& rank) {
  for (int i = 0; i < 3; ++i) rank.root()->barrier();
}

}  // namespace gang::sim::test
