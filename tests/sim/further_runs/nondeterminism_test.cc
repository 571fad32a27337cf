#include "sim/further_runs/nondeterminism.h"

#include <array>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Of two runs under one schedule.
std::optional<Finding> nondeterminism_of(SimulationOptions options, const RankProgram& program) {
  options.trace = Recording::on;
  const Report first = run(options, program);
  return nondeterminism(first, run(options, program));
}

TEST(Nondeterminism, IsNotFoundInADeterministicProgram) {
  const auto program = [](SimulatedRank& rank) {
    RandomStream random = rank.random_stream("data");
    rank.runtime().sleep_for(Duration(random.below(100)));
    rank.root()->barrier();
  };
  EXPECT_FALSE(nondeterminism_of({.world_size = 4, .scheduler = SchedulerKind::random}, program));
}

TEST(Nondeterminism, NamesTheFirstEventThatDependsOnSomethingOutside) {
  int runs = 0;
  const auto finding = nondeterminism_of({.world_size = 3}, [&runs](SimulatedRank& rank) {
    if (rank.rank() == 0) ++runs;
    rank.root()->barrier();
    std::array<std::int32_t, 8> values{};
    const int count = rank.rank() == 2 ? 2 + runs : 8;
    gang_error_of([&] {
      rank.root()->all_reduce(view(values).slice(0, count), ReduceOperation::sum, {},
                              CallSite::at("train.cc", 41));
    });
  });
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "nondeterminism");
  EXPECT_THAT(finding->ranks, ElementsAre(2));
  EXPECT_EQ(to_string(finding->location), "train.cc:41");
  EXPECT_THAT(finding->message, HasSubstr("first post of rank 2 all_reduce #1 sum i32[3]"));
  EXPECT_THAT(finding->message, HasSubstr("then post of rank 2 all_reduce #1 sum i32[4]"));
}

TEST(Nondeterminism, IsThatOfARunThatIsShorter) {
  int runs = 0;
  EXPECT_TRUE(nondeterminism_of({.world_size = 1}, [&runs](SimulatedRank& rank) {
    if (++runs == 1) rank.root()->barrier();
  }));
}

TEST(Nondeterminism, PointsAtTheCallThatOneOfTheRunsMade) {
  int runs = 0;
  const auto finding = nondeterminism_of({.world_size = 2}, [&runs](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() == 0 && ++runs == 2) rank.root()->start_barrier({}, CallSite::at("a.cc", 9));
  });
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->ranks, ElementsAre(0));
  EXPECT_EQ(to_string(finding->location), "a.cc:9");
}

}  // namespace
}  // namespace gang::sim
