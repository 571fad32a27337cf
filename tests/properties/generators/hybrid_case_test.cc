#include "properties/generators/hybrid_case.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"

namespace gang::properties {
namespace {

TEST(HybridCase, RunsAreAcceptedAndVaried) {
  sim::RandomStream stream{1, "hybrid"};
  std::set<std::string> schedules;
  std::set<std::string> models;
  const harness::Program program = harness::hybrid_program();
  for (int i = 0; i < 300; ++i) {
    Draw draw{.random = stream, .size = i / 3, .max_world = 16};
    const HybridCase one = generate_hybrid(draw);
    EXPECT_LE(one.options.world_size, 48) << to_text(one);
    const harness::RunSpecification specification = specification_of(one);
    EXPECT_EQ(harness::hybrid_options(*specification.world_size,
                                      {program.parameters, specification.parameters}),
              one.options);
    schedules.insert(one.options.schedule);
    models.insert(one.options.model);
    for (const HybridCase& simpler : shrinks(one)) {
      EXPECT_NE(simpler, one);
      EXPECT_NO_THROW(make_hybrid_plan(simpler.options)) << to_text(simpler);
    }
  }
  EXPECT_EQ(schedules.size(), 4U);
  EXPECT_EQ(models.size(), 2U);
}

TEST(HybridCase, IsSaidAsACommand) {
  const HybridCase one{.options = {.world_size = 4, .pp = 2, .stages_per_rank = 1}, .seed = 3};
  EXPECT_THAT(to_text(one),
              testing::AllOf(testing::StartsWith("gangsim run hybrid --world 4"),
                             testing::HasSubstr("--set pp=2"), testing::HasSubstr("--seed 3")));
}

}  // namespace
}  // namespace gang::properties
