#include "sim/further_runs/rechecked_run.h"

#include <algorithm>
#include <array>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(RunRechecked, FindsNothingInADeterministicProgram) {
  const SimulationOptions options{.world_size = 4, .scheduler = SchedulerKind::random};
  const Report report = run_rechecked(options, [](SimulatedRank& rank) {
    RandomStream random = rank.random_stream("data");
    rank.runtime().sleep_for(Duration(random.below(100)));
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(report.trace.events, IsEmpty()) << "they were not asked for";
}

TEST(RunRechecked, NamesTheFirstEventThatDependsOnSomethingOutside) {
  int runs = 0;
  const Report report = run_rechecked({.world_size = 3}, [&runs](SimulatedRank& rank) {
    if (rank.rank() == 0) ++runs;
    rank.root()->barrier();
    std::array<std::int32_t, 8> values{};
    const int count = rank.rank() == 2 ? 2 + runs : 8;
    gang_error_of([&] {
      rank.root()->all_reduce(view(values).slice(0, count), ReduceOperation::sum, {},
                              CallSite::at("train.cc", 41));
    });
  });
  ASSERT_FALSE(report.findings.empty());
  const Finding& finding = report.findings.back();
  EXPECT_EQ(finding.id, "nondeterminism");
  EXPECT_THAT(finding.ranks, ElementsAre(2));
  EXPECT_EQ(to_string(finding.location), "train.cc:41");
  EXPECT_THAT(finding.message, HasSubstr("first post of rank 2 all_reduce #1 sum i32[3]"));
  EXPECT_THAT(finding.message, HasSubstr("then post of rank 2 all_reduce #1 sum i32[4]"));
}

TEST(RunRechecked, NamesARunThatIsShorter) {
  int runs = 0;
  const Report report = run_rechecked({.world_size = 1}, [&runs](SimulatedRank& rank) {
    if (++runs == 1) rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("nondeterminism"));
}

TEST(RunRechecked, PointsAtTheCallThatOneOfTheRunsMade) {
  int runs = 0;
  const Report report = run_rechecked({.world_size = 2}, [&runs](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() == 0 && ++runs == 2) rank.root()->start_barrier({}, CallSite::at("a.cc", 9));
  });
  const auto found = std::ranges::find(report.findings, "nondeterminism", &Finding::id);
  ASSERT_NE(found, report.findings.end());
  EXPECT_THAT(found->ranks, ElementsAre(0));
  EXPECT_EQ(to_string(found->location), "a.cc:9");
}

}  // namespace
}  // namespace gang::sim
