#include "properties/generators/culprit_case.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::properties {
namespace {

CulpritCase nth_case(std::uint64_t seed, CulpritCase (*generate)(Draw&) = generate_culprit) {
  sim::RandomStream random(seed, "culprits");
  Draw draw{random, 100, 64};
  return generate(draw);
}

TEST(CulpritCase, GeneratesEverySlipInWorldsOfEverySize) {
  std::set<Slip> slips;
  int largest = 0;
  bool is_any_far_behind = false;
  sim::RandomStream random(1, "culprits");
  Draw draw{random, 100, 64};
  for (int i = 0; i < 4000; ++i) {
    const CulpritCase one = generate_culprit(draw);
    ASSERT_EQ(one.culprits.size(), 1U);
    slips.insert(one.culprits[0].slip);
    largest = std::max(largest, one.world());
    is_any_far_behind = is_any_far_behind || is_far_behind(one);
    EXPECT_GE(one.world(), 4);
  }
  EXPECT_EQ(slips.size(), 8U);
  EXPECT_GT(largest, 64);
  EXPECT_TRUE(is_any_far_behind);
}

TEST(CulpritCase, TwoCulpritsAreTwoRanks) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const CulpritCase one = nth_case(seed, generate_two_culprits);
    ASSERT_EQ(one.culprits.size(), 2U);
    EXPECT_NE(one.culprits[0].rank, one.culprits[1].rank);
    EXPECT_GE(one.world(), 8);
  }
}

TEST(CulpritCase, ShrinksToSimplerCasesThatCanStillRun) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const CulpritCase one = nth_case(seed);
    for (const CulpritCase& simpler : shrinks(one)) {
      EXPECT_NE(simpler, one);
      EXPECT_LT(simpler.culprits[0].rank, simpler.world());
    }
  }
}

TEST(CulpritCase, KnowsTheLinesOfASlip) {
  CulpritCase one{.axes = {2, 2, 1},
                  .calls = {{.line = 10}, {.line = 11}, {.line = 12}},
                  .culprits = {{.rank = 1, .slip = Slip::adds, .call = 1, .on_own_line = true}}};
  EXPECT_THAT(lines_of(one, one.culprits[0]), testing::ElementsAre(own_line(one.culprits[0])));
  one.culprits[0].slip = Slip::skips;
  one.culprits[0].iteration = 1;
  EXPECT_THAT(lines_of(one, one.culprits[0]), testing::IsSupersetOf({11, 12}));
}

}  // namespace
}  // namespace gang::properties
