#include "properties/generators/layout_case.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(LayoutCase, EnumeratesEveryFactorisationOnce) {
  const std::vector<LayoutCase> layouts = all_layouts(12);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    EXPECT_EQ(std::ranges::count(layouts, layouts[i]), 1);
    if (i > 0) {
      EXPECT_LE(layouts[i - 1].world(), layouts[i].world());
    }
  }
  // pp · dp · tp = 12 in 18 ways; nodes of size n > 1 divide dp.
  std::size_t of_twelve = 0;
  for (const LayoutCase& layout : layouts) {
    if (layout.world() == 12 && !layout.intra_node_size) ++of_twelve;
  }
  EXPECT_EQ(of_twelve, 18U);
  EXPECT_EQ(std::ranges::count(layouts, LayoutCase{1, 6, 2, 3}), 1);
  EXPECT_EQ(std::ranges::count(layouts, LayoutCase{1, 6, 2, 4}), 0);
}

TEST(LayoutCase, ReadsAsItsSizes) {
  EXPECT_EQ(to_text(LayoutCase{1, 6, 2, 3}), "world 12, pp 1, dp 6, tp 2, intra-node 3");
}

TEST(LayoutCase, ShrinksToValidLayouts) {
  const LayoutCase layout{2, 6, 4, 6};
  EXPECT_FALSE(shrinks(layout).empty());
  for (const LayoutCase& simpler : shrinks(layout)) {
    EXPECT_NE(simpler, layout);
    EXPECT_LE(simpler.world(), layout.world());
    if (simpler.intra_node_size) {
      EXPECT_EQ(simpler.dp % *simpler.intra_node_size, 0);
    }
  }
  EXPECT_TRUE(shrinks(LayoutCase{}).empty());
}

}  // namespace
}  // namespace gang::properties
