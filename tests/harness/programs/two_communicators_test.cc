#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_on(BackendKind backend, const std::string& order, int world_size = 2) {
  return run(two_communicators_program(), {.program = "two_communicators",
                                           .world_size = world_size,
                                           .parameters = {{"order", order}},
                                           .backend = backend});
}

TEST(TwoCommunicators, HangOnDevicesUnlessTheyAreStartedInOneOrder) {
  const RunResult result = run_on(BackendKind::sim_nccl, "different");
  ASSERT_EQ(result.report.findings.size(), 1U) << to_string(result);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::stream_order_inversion);
  EXPECT_TRUE(run_on(BackendKind::sim_nccl, "same").holds());
  EXPECT_TRUE(run_on(BackendKind::sim_nccl, "same", 5).holds());
}

TEST(TwoCommunicators, AreCorrectGangByGang) {
  EXPECT_TRUE(run_on(BackendKind::sim, "different").holds());
}

TEST(TwoCommunicators, NeedTwoRanks) {
  EXPECT_THROW(run_on(BackendKind::sim, "same", 1), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
