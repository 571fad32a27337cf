#include "properties/monitored_barriers.h"

#include "properties/faults_are_contained.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* law_name = "monitored_barriers_name_who_is_missing";

// Gangs whose errors name ranks other than the real ones.
Subject naming(const std::function<std::vector<int>(std::vector<int>)>& falsify) {
  return running_by([falsify](Operation& operation, const auto& inner) {
    try {
      return inner(operation);
    } catch (const GangError& error) {
      GangFailure failure;
      failure.kind = error.kind();
      failure.gang = error.gang();
      failure.rank = error.rank();
      failure.operation = error.operation();
      failure.ranks_at_fault = falsify(error.ranks_at_fault());
      throw GangError(std::move(failure));
    }
  });
}

TEST(MonitoredBarriers, ARankThatIsForgottenIsCaught) {
  const Subject subject = naming([](std::vector<int> ranks) {
    if (ranks.size() > 1) ranks.pop_back();
    return ranks;
  });
  expect_caught(faults_are_contained(subject), law_name, "gets timeout naming ranks");
}

TEST(MonitoredBarriers, ARankThatIsAccusedWronglyIsCaught) {
  const Subject subject = naming([](const std::vector<int>&) { return std::vector<int>{0}; });
  expect_caught(faults_are_contained(subject), law_name, "naming ranks [0]");
}

TEST(MonitoredBarriers, ABarrierThatWaitsForNoRankIsCaught) {
  const Subject subject = running_by([](Operation& operation, const auto& inner) -> Received {
    if (operation.collective.kind == OperationKind::monitored_barrier) return {};
    return inner(operation);
  });
  expect_caught(faults_are_contained(subject), law_name, "passed the barrier without");
}

TEST(MonitoredBarriers, ShrunkCasesAreValid) {
  sim::RandomStream random(1, "test");
  for (int i = 0; i < 50; ++i) {
    Draw draw{.random = random, .size = 50, .max_world = 8};
    const RollCall roll_call = generate_roll_call(draw);
    for (const RollCall& simpler : shrinks(roll_call)) {
      sim::validate(simpler.plan, simpler.world());
      EXPECT_FALSE(simpler == roll_call);
    }
  }
}

}  // namespace
}  // namespace gang::properties
