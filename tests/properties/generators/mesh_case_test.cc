#include "properties/generators/mesh_case.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(MeshCase, StaysWithinTheWorld) {
  sim::RandomStream random(1, "meshes");
  Draw draw{random, 100, 16};
  std::size_t most_axes = 0;
  for (int i = 0; i < 300; ++i) {
    const MeshCase mesh = generate_mesh(draw);
    EXPECT_LE(mesh.world(), 64);
    most_axes = std::max(most_axes, mesh.sizes.size());
  }
  EXPECT_EQ(most_axes, 4U);
}

TEST(MeshCase, ReadsAsItsAxes) { EXPECT_EQ(to_text(MeshCase{{2, 3}}), "world 6, a=2 b=3"); }

TEST(MeshCase, ShrinksToFewerAndShorterAxes) {
  const std::vector<MeshCase> simpler = shrinks(MeshCase{{2, 3}});
  EXPECT_THAT(simpler, ::testing::Contains(MeshCase{{3}}));
  EXPECT_THAT(simpler, ::testing::Contains(MeshCase{{2, 2}}));
  EXPECT_THAT(simpler, ::testing::Not(::testing::Contains(MeshCase{{2, 3}})));
  EXPECT_TRUE(shrinks(MeshCase{{1}}).empty());
}

}  // namespace
}  // namespace gang::properties
