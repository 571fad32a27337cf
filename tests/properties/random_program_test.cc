#include "properties/random_program.h"

#include <gtest/gtest.h>

#include "gang/gloo/gloo_gang.h"
#include "harness/backends/backend.h"
#include "harness/comparison/agreement_report.h"
#include "harness/run/runner.h"

namespace gang::properties {
namespace {

harness::RunResult run_on(harness::BackendKind backend, const std::string& seed) {
  return harness::run(random_program(),
                      {.program = "random",
                       .world_size = 3,
                       .parameters = {{"cases", "25"}, {"seed", seed}},
                       .backend = backend},
                      {.outputs = harness::KeepOutputs::data});
}

TEST(RandomProgram, IsDecidedByItsSeed) {
  const auto once = run_on(harness::BackendKind::sim, "7");
  EXPECT_TRUE(once.holds()) << to_string(once);
  EXPECT_GT(once.outputs.by_rank[0].size(), 20U);
  EXPECT_EQ(once.outputs.by_rank, run_on(harness::BackendKind::sim, "7").outputs.by_rank);
  EXPECT_NE(once.outputs.by_rank, run_on(harness::BackendKind::sim, "8").outputs.by_rank);
}

TEST(RandomProgram, DoesTheSameOnRealProcesses) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  for (const char* seed : {"1", "2"}) {
    const auto report = harness::compare_runs(run_on(harness::BackendKind::sim, seed),
                                              run_on(harness::BackendKind::gloo, seed));
    EXPECT_TRUE(report.agrees()) << to_string(report);
  }
}

}  // namespace
}  // namespace gang::properties
