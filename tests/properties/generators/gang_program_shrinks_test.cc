#include "properties/generators/gang_program.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

GangProgram program_of_seed(std::uint64_t seed) {
  sim::RandomStream random(seed, "programs");
  Draw draw{random, 100, 16};
  return generate_program(draw);
}

// The first shrink for which the predicate holds, again and again.
template <typename Predicate>
GangProgram shrink_while(GangProgram program, const Predicate& predicate) {
  for (int step = 0; step < 10'000; ++step) {
    const std::vector<GangProgram> simpler = shrinks(program);
    const auto next = std::ranges::find_if(simpler, predicate);
    if (next == simpler.end()) return program;
    program = *next;
  }
  ADD_FAILURE() << "shrinking does not end";
  return program;
}

TEST(GangProgramShrinks, NeverContainTheProgramItself) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const GangProgram program = program_of_seed(seed);
    for (const GangProgram& simpler : shrinks(program)) EXPECT_NE(simpler, program);
  }
}

TEST(GangProgramShrinks, EndInTheSmallestProgram) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const GangProgram least = shrink_while(program_of_seed(seed), [](const auto&) { return true; });
    EXPECT_EQ(least.world, 1);
    EXPECT_EQ(least.nodes.size(), 1U);
    ASSERT_EQ(least.steps.size(), 1U);
    EXPECT_EQ(least.steps.front().count, 0);
    EXPECT_EQ(least.run, RunChoices{});
  }
}

TEST(GangProgramShrinks, AreValidPrograms) {
  for (const GangProgram& simpler : shrinks(program_of_seed(3))) {
    EXPECT_GE(simpler.world, 1);
    EXPECT_FALSE(simpler.steps.empty());
    for (std::size_t i = 1; i < simpler.nodes.size(); ++i) {
      EXPECT_LT(simpler.nodes[i].parent, static_cast<int>(i));
    }
    for (const Step& step : simpler.steps) {
      EXPECT_LT(step.node, static_cast<int>(simpler.nodes.size()));
      EXPECT_TRUE(is_defined(step.reduce_operation, step.data_type));
    }
  }
}

TEST(GangProgramShrinks, KeepWhatTheFailureNeeds) {
  const GangProgram least = shrink_while(program_of_seed(5), [](const GangProgram& program) {
    return program.world >= 3 && program.steps.front().count >= 2;
  });
  EXPECT_EQ(least.world, 3);
  EXPECT_EQ(least.steps.front().count, 2);
}

}  // namespace
}  // namespace gang::properties
