#include "properties/generators/program_pair.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

ProgramPair random_pair() {
  sim::RandomStream random(1, "pairs");
  Draw draw{random, 100, 16};
  return generate_pair(draw);
}

TEST(ProgramPair, FillsAWorldTogether) {
  const ProgramPair pair = random_pair();
  EXPECT_EQ(pair.world(), pair.first.world + pair.second.world);
  EXPECT_LE(pair.world(), 16);
  EXPECT_GE(pair.world(), 2);
}

TEST(ProgramPair, ReadsAsTwoPrograms) {
  EXPECT_THAT(to_text(random_pair()), ::testing::AllOf(::testing::HasSubstr("\nfirst: world "),
                                                       ::testing::HasSubstr("\nsecond: world ")));
}

TEST(ProgramPair, ShrinksOneProgramAtATime) {
  const ProgramPair pair = random_pair();
  EXPECT_FALSE(shrinks(pair).empty());
  for (const ProgramPair& simpler : shrinks(pair)) {
    EXPECT_NE(simpler, pair);
    EXPECT_TRUE(simpler.first == pair.first || simpler.second == pair.second);
  }
}

}  // namespace
}  // namespace gang::properties
