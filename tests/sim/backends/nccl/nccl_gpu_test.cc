#include "sim/backends/nccl/nccl_gpu.h"

#include "tests/sim/backends/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Two kernels of different communicators on two streams while the peer has launched neither.
void look_at_two_kernels(const NcclModel& model,
                         const std::function<void(const std::vector<const NcclKernel*>&)>& look) {
  const Report report = run_nccl({.world_size = 2, .nccl = model}, [&look](NcclRank& rank) {
    const auto second = rank.make_communicator(1);
    const auto stream = rank.api->make_stream(StreamPriority::normal);
    std::int32_t values[2] = {};
    if (rank.rank == 1) rank.runtime.sleep_for(1ms);
    rank.all_reduce(*rank.communicator, *rank.stream, values[0]);
    rank.all_reduce(*second, *stream, values[1]);
    if (rank.rank == 0) look(rank.nccl.gpu_of(0).kernels());
    rank.wait(*rank.stream);
    rank.wait(*stream);
    EXPECT_TRUE(rank.nccl.gpu_of(rank.rank).is_idle());
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(NcclGpu, RunsOnlyAsManyKernelsAsFit) {
  look_at_two_kernels({.resident = 1}, [](const std::vector<const NcclKernel*>& kernels) {
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_EQ(kernels[0]->state, NcclKernel::State::running);
    EXPECT_EQ(kernels[1]->state, NcclKernel::State::queued);
    EXPECT_THAT(kernels[1]->gpu->ahead_of(*kernels[1]), ElementsAre(kernels[0]));
  });
  look_at_two_kernels({.resident = 2}, [](const std::vector<const NcclKernel*>& kernels) {
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_EQ(kernels[1]->state, NcclKernel::State::running);
  });
}

// One kernel runs; behind it on its stream waits a second, and a third is the first of its stream.
// Whether that third one runs under any of a few seeds.
bool overtakes(LaunchOrder order) {
  bool runs = false;
  const auto look = [&runs](NcclRank& rank) {
    const auto second = rank.make_communicator(1);
    const auto stream = rank.api->make_stream(StreamPriority::normal);
    std::int32_t values[3] = {};
    if (rank.rank == 1) {
      rank.runtime.sleep_for(1ms);  // until rank 0 waits
      runs |= rank.nccl.gpu_of(0).kernels().at(2)->state == NcclKernel::State::running;
    }
    rank.all_reduce(*rank.communicator, *rank.stream, values[0]);
    rank.all_reduce(*rank.communicator, *rank.stream, values[1]);
    rank.all_reduce(*second, *stream, values[2]);
    rank.wait(*rank.stream);
    rank.wait(*stream);
  };
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const SimulationOptions options{
        .world_size = 2, .seed = seed, .nccl = {.resident = 2, .order = order}};
    const Report report = run_nccl(options, look);
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
  return runs;
}

TEST(NcclGpu, InHostOrderNoKernelStartsBeforeAnEarlierOne) {
  EXPECT_FALSE(overtakes(LaunchOrder::host));
  EXPECT_TRUE(overtakes(LaunchOrder::any));
}

TEST(NcclGpu, EventOnAnEmptyStreamIsComplete) {
  const Report report = run_nccl({.world_size = 1}, [](NcclRank& rank) {
    const auto event = rank.api->make_event();
    EXPECT_TRUE(rank.api->is_done(*event));
    rank.api->record(*event, *rank.stream);
    EXPECT_TRUE(rank.api->is_done(*event));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
