#include "sim/backends/nccl/nccl_assembly.h"

#include "tests/sim/backends/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(NcclAssembly, MakesACliquePerColorOrderedByKey) {
  run_nccl({.world_size = 1}, [](NcclRank& rank) {
    NcclAssembly assembly(rank.nccl.world(), "test", {4, 5, 6, 7});
    assembly.join(0, {.color = 1, .key = 9});
    assembly.join(2, {.color = 1, .key = 3});
    EXPECT_THAT(assembly.missing(), ElementsAre(5, 7));
    EXPECT_FALSE(assembly.is_complete());
    assembly.join(1, {.color = no_color});
    assembly.join(3, {.color = 2});
    ASSERT_TRUE(assembly.is_complete());
    EXPECT_THAT(assembly.seat_of(0).clique->root_ranks(), ElementsAre(6, 4));
    EXPECT_EQ(assembly.seat_of(0).member, 1);
    EXPECT_EQ(assembly.seat_of(2).clique, assembly.seat_of(0).clique);
    EXPECT_EQ(assembly.seat_of(1).clique, nullptr);
    EXPECT_THAT(assembly.seat_of(3).clique->root_ranks(), ElementsAre(7));
  });
}

}  // namespace
}  // namespace gang::sim
