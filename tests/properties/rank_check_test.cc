#include "properties/rank_check.h"

#include <stdexcept>

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

const sim::SimulationOptions four{.world_size = 4};

TEST(JudgeRanks, HoldsWhereNoRankComplains) {
  EXPECT_FALSE(judge_ranks(four, {}, [](sim::SimulatedRank&) { return ""; }).is_violated());
}

TEST(JudgeRanks, NamesTheLowestRankThatComplains) {
  const Verdict verdict = judge_ranks(four, {}, [](sim::SimulatedRank& rank) {
    return rank.rank() >= 2 ? std::string("planted") : std::string();
  });
  EXPECT_EQ(verdict.message(), "rank 2: planted");
}

TEST(JudgeRanks, ARankThatThrowsIsAViolation) {
  const Verdict verdict = judge_ranks(four, {}, [](sim::SimulatedRank& rank) -> std::string {
    if (rank.rank() == 1) throw std::runtime_error("planted");
    return "";
  });
  EXPECT_THAT(verdict.message(), ::testing::HasSubstr("rank_failed"));
}

TEST(RunChecked, GivesTheReportAsWell) {
  const CheckedRun run = run_checked(four, {}, [](sim::SimulatedRank& rank) {
    rank.root()->barrier();
    return std::string();
  });
  EXPECT_EQ(run.complaint, "");
  EXPECT_EQ(run.report.counts.rank_operations, 4U);
}

}  // namespace
}  // namespace gang::properties
