#include <memory>
#include <set>

#include "sim/injection/fault_injector.h"
#include "sim/schedule/guide.h"
#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// How many faults happen in a run that ends after so many steps: one rank, whose only call has a
// fault at `moment`, and who lets others go first before the call and, in explored schedules, after
// it.
std::size_t faults_within(std::uint64_t steps, FaultMoment moment) {
  Fault fault{.kind = FaultKind::watchdog_abort, .ranks = {0}};
  fault.trigger.operation = 0;
  fault.trigger.moment = moment;
  SimulationOptions options = with(1, {fault});
  options.step_limit = steps;
  options.scheduler = SchedulerKind::guided;
  options.guide = std::make_shared<Guide>();
  const Knowledge none;
  options.guide->begin({}, none);
  return run(options,
             [](SimulatedRank& rank) {
               std::int32_t value = 0;
               gang_error_of(
                   [&] { rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum); });
             })
      .faults.size();
}

// The calls of a run that has ended are unwound: they break no gang, since what waits there may be
// gone already.
TEST(FaultsAtTheEnd, AreNotThoseOfCallsThatAreUnwound) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> after;
  for (std::uint64_t steps = 1; steps <= 5; ++steps) {
    before.push_back(faults_within(steps, FaultMoment::before));
    after.push_back(faults_within(steps, FaultMoment::after));
  }
  EXPECT_THAT(before, ElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(after, ElementsAre(0, 0, 1, 1, 1));
}

}  // namespace
}  // namespace gang::sim
