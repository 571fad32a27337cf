#include "sim/backends/nccl/nccl_wait_chain.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Three ranks, three pairs: each rank starts with the pair named after it.
TEST(NcclWaitChain, FindsCyclesThroughManyDevices) {
  const Report report =
      run({.world_size = 3, .backend = SimulatedBackend::nccl}, [](SimulatedRank& rank) {
        std::vector<std::shared_ptr<Gang>> pairs;
        for (int i = 0; i < 3; ++i) pairs.push_back(child_of(*rank.root(), {i, (i + 1) % 3}));
        std::vector<Work> works;
        for (int i = rank.rank(); i < rank.rank() + 3; ++i)
          if (pairs[static_cast<std::size_t>(i % 3)])
            works.push_back(pairs[static_cast<std::size_t>(i % 3)]->start_barrier());
        Work::wait_all(works);
      });
  ASSERT_THAT(ids_of(report), ElementsAre("stream_order_inversion")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace gang::sim
