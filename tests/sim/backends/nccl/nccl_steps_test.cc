#include "sim/backends/nccl/nccl_steps.h"

#include <gtest/gtest.h>

#include "sim/backends/nccl/nccl_gpu.h"
#include "sim/schedule/guide.h"
#include "tests/sim/backends/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The log of a run in which each rank launches two kernels, with a thread or without one.
StepLog log_of(int threads) {
  SimulationOptions options{.world_size = 2, .backend = SimulatedBackend::nccl};
  options.scheduler = SchedulerKind::guided;
  options.guide = std::make_shared<Guide>();
  const Knowledge none;
  options.guide->begin({}, none);
  run(options, [threads](SimulatedRank& rank) {
    for (int i = 0; i < threads; ++i) rank.runtime().start_thread("idle", [] {})->join();
    rank.root()->barrier();
    rank.root()->barrier();
  });
  return options.guide->log();
}

std::int64_t count(const StepLog& log, StepMark::Kind kind) {
  return std::ranges::count(log.marks, kind, &StepMark::kind);
}

TEST(NcclSteps, LaunchesOfARankWithThreadsAreInAnOrderOfTheDevice) {
  const auto objects_of = [](const StepLog& log, int rank) {
    std::set<StepKey> objects;
    for (const Access& access : log.accesses)
      if (access.rank == rank && access.kind == AccessKind::device) objects.insert(access.object);
    return objects;
  };
  EXPECT_TRUE(objects_of(log_of(0), 0).empty());
  const StepLog log = log_of(1);
  EXPECT_EQ(objects_of(log, 0).size(), 1U);
  EXPECT_NE(objects_of(log, 0), objects_of(log, 1));
}

TEST(NcclSteps, WhoWaitsForAKernelComesAfterAllItsLaunches) {
  const StepLog log = log_of(0);
  EXPECT_GE(count(log, StepMark::Kind::carry), 2 * 4);
  EXPECT_EQ(count(log, StepMark::Kind::carry), count(log, StepMark::Kind::into));
}

TEST(NcclSteps, MeetingsHaveKeysByTheirNames) {
  EXPECT_EQ(meeting_key("a"), meeting_key("a"));
  EXPECT_NE(meeting_key("a"), meeting_key("b"));
}

}  // namespace
}  // namespace gang::sim
