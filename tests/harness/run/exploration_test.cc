#include "harness/run/exploration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/careless_program.h"

namespace gang::harness {
namespace {

RunSpecification specification_with(std::string program, std::string_view faults) {
  return {.program = std::move(program),
          .world_size = 4,
          .schedule = ScheduleChoice::random,
          .faults = load_faults(faults)};
}

TEST(Exploration, CoversWhatItHasRun) {
  const Exploration exploration =
      explore(data_parallel_step_program(), specification_with("data_parallel_step", "production"),
              {.schedules = 200, .jobs = 2});
  EXPECT_FALSE(exploration.failure);
  const ExplorationCoverage& coverage = exploration.coverage;
  EXPECT_EQ(coverage.runs, 200u);
  EXPECT_GT(coverage.with_faults, 20u);
  EXPECT_GT(coverage.kinds.at("crash").fired, 10u);
  EXPECT_GT(coverage.kinds.at("crash").places.size(), 3u);
  EXPECT_LE(coverage.kinds.at("crash").fired, coverage.kinds.at("crash").planned);
}

TEST(Exploration, TheFirstFailureDoesNotDependOnTheNumberOfJobs) {
  const RunSpecification specification = specification_with("careless", "light");
  std::vector<std::uint64_t> seeds;
  for (const int jobs : {1, 2, 4}) {
    const Exploration exploration =
        explore(careless_program(), specification, {.schedules = 500, .jobs = jobs});
    ASSERT_TRUE(exploration.failure);
    EXPECT_EQ(exploration.failure->uncontained, "the finding wrong_result");
    seeds.push_back(exploration.failure->specification.options.seed);
  }
  EXPECT_THAT(seeds, testing::Each(seeds.front()));
}

TEST(Exploration, WithoutFaultsAnythingThatDoesNotHoldIsAFailure) {
  const Program lonely{.name = "lonely", .description = "", .run = [](Rank& rank) {
                         if (rank.rank() == 0) rank.root()->barrier();
                       }};
  const Exploration exploration =
      explore(lonely, {.program = "lonely", .world_size = 2}, {.schedules = 10});
  ASSERT_TRUE(exploration.failure);
  EXPECT_EQ(exploration.failure->specification.options.seed, 1u);
}

}  // namespace
}  // namespace gang::harness
