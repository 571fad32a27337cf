#include "sim/further_runs/further_run.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(FurtherRun, RecordsNothingAndFollowsNoSchedule) {
  const SimulationOptions options{.scheduler = SchedulerKind::replay,
                                  .replay = Schedule{},
                                  .trace = Recording::on,
                                  .call_stacks = Recording::on,
                                  .timeline = Recording::on,
                                  .schedule = Recording::on};
  const SimulationOptions other = another_run(options);
  EXPECT_EQ(other.scheduler, SchedulerKind::round_robin);
  EXPECT_EQ(other.replay, std::nullopt);
  for (const Recording recording : {other.trace, other.call_stacks, other.timeline, other.schedule})
    EXPECT_EQ(recording, Recording::off);
}

TEST(FurtherRun, IsOtherwiseTheSame) {
  const SimulationOptions options{
      .world_size = 3, .seed = 7, .scheduler = SchedulerKind::random, .step_limit = 9};
  const SimulationOptions other = another_run(options);
  EXPECT_EQ(other.world_size, 3);
  EXPECT_EQ(other.seed, 7U);
  EXPECT_EQ(other.scheduler, SchedulerKind::random);
  EXPECT_EQ(other.step_limit, 9U);
}

}  // namespace
}  // namespace gang::sim
