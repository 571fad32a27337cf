// Plans that need no file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/faults/fault_plan.h"
#include "sim/injection/fault_injector.h"
#include "sim/options/simulation_options.h"

namespace gang::sim {
namespace {

TEST(FaultPresets, AreGoodForAnyWorld) {
  for (const std::string& name : fault_preset_names()) {
    const FaultPlan plan = fault_preset(name);
    EXPECT_EQ(plan.name, name);
    for (const int world_size : {1, 2, 8, 100})
      for (std::uint64_t seed = 0; seed < 50; ++seed)
        for (const auto backend : {SimulatedBackend::sim, SimulatedBackend::gloo})
          check_injectable(draw(plan, seed, world_size), backend);
  }
}

TEST(FaultPresets, ProductionHasTheSharesOfTheCatalog) {
  double total = 0;
  double deaths = 0;
  for (const Fault& fault : fault_preset("production").faults) {
    total += fault.weight;
    if (fault.kind == FaultKind::crash || fault.kind == FaultKind::restart) deaths += fault.weight;
  }
  EXPECT_NEAR(total, 1, 1e-9);
  EXPECT_NEAR(deaths, 0.5, 1e-9);
}

TEST(FaultPresets, NoneIsNothing) { EXPECT_TRUE(draw(fault_preset("none"), 1, 8).faults.empty()); }

TEST(FaultPresets, AnUnknownNameListsTheKnownOnes) {
  try {
    fault_preset("heavy");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "fault plan 'heavy' is unknown; must be one of: none, one_crash, light, swarm, "
                 "production, byzantine, or a .toml file");
  }
}

}  // namespace
}  // namespace gang::sim
