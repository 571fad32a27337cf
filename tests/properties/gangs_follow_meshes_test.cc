#include "properties/gangs_follow_meshes.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

// The real gangs, spoilt by `spoil`.
std::vector<Property> spoilt(void (*spoil)(Gangs&)) {
  return gangs_follow_meshes([spoil](const std::shared_ptr<Gang>& root, const ParallelSizes& sizes,
                                     std::optional<int> intra_node_size) {
    Gangs gangs = make_layout_gangs(root, sizes, intra_node_size);
    spoil(gangs);
    return gangs;
  });
}

TEST(GangsFollowMeshes, HoldForEveryFactorisation) { expect_hold(gangs_follow_meshes()); }

TEST(GangsFollowMeshes, AxesThatAreMixedUpAreCaught) {
  const auto properties = spoilt([](Gangs& gangs) { std::swap(gangs.dp, gangs.tp); });
  const Counterexample found =
      expect_caught(properties, "all_ranks_agree_on_the_gangs_of_a_layout", "expected rank");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 2,"));
}

TEST(GangsFollowMeshes, ACopyOfTheRootIsCaught) {
  const auto properties = spoilt([](Gangs& gangs) {
    if (gangs.dp == gangs.root) gangs.dp = gangs.root->split({.color = 0});
  });
  expect_caught(properties, "trivial_axes_need_no_communication", "is not the root itself");
}

TEST(GangsFollowMeshes, AnAxisThatIsReducedTwiceIsCaught) {
  const auto properties = spoilt([](Gangs& gangs) { gangs.pp = gangs.tp; });
  expect_caught(properties, "reducing_over_the_axes_reduces_the_root", "over the axes");
}

}  // namespace
}  // namespace gang::properties
