#include "harness/backends/nccl_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/nccl/real_nccl_api.h"
#include "gang/root_gang.h"
#include "gang/store/memory_store.h"
#include "harness/comparison/agreement_report.h"
#include "harness/comparison/comparison.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

TEST(NcclBackend, WithoutAGpuItIsNotSupported) {
  if (nccl_availability().is_available) GTEST_SKIP() << "runs where there is no GPU";
  const Program program = every_collective_program();
  EXPECT_THAT(
      [&] {
        run(program,
            {.program = "every_collective", .world_size = 1, .backend = BackendKind::nccl});
      },
      testing::ThrowsMessage<NotSupported>(testing::HasSubstr(nccl_availability().reason)));
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const Environment environment;
  EXPECT_THROW(make_nccl_job_gang({environment, make_memory_store(*runtime), runtime}),
               NotSupported);
}

TEST(NcclBackend, OnAGpuEveryCollectiveIsAsSimulated) {
  if (!nccl_availability().is_available)
    GTEST_SKIP() << "runs where there is a GPU: " << nccl_availability().reason;
  const Program program = every_collective_program();
  const RunRecording recording{.outputs = KeepOutputs::data};
  const auto on = [&](BackendKind backend) {
    return run(program, {.program = "every_collective", .world_size = 1, .backend = backend},
               recording);
  };
  const AgreementReport report = compare_runs(on(BackendKind::sim_nccl), on(BackendKind::nccl));
  EXPECT_TRUE(report.agrees()) << to_string(report);
}

}  // namespace
}  // namespace gang::harness
