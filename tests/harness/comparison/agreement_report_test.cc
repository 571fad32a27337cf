#include "harness/comparison/agreement_report.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gang::harness {
namespace {

using testing::HasSubstr;

// A run on `backend` whose rank 1 output `values`.
RunResult run_with(BackendKind backend, const std::vector<float>& values) {
  RunResult result{.world_size = 2};
  result.specification.program = "train";
  result.specification.backend = backend;
  Output output{.name = "gradient", .count = static_cast<std::int64_t>(values.size())};
  output.data.resize(values.size() * sizeof(float));
  std::memcpy(output.data.data(), values.data(), output.data.size());
  result.outputs.by_rank = {{}, {output}};
  return result;
}

sim::Report with_finding(std::string_view id, sim::Outcome outcome) {
  sim::Report report;
  report.outcome = outcome;
  report.findings.push_back({.id = std::string{id}, .message = "It is so."});
  return report;
}

TEST(VerdictOf, IsOneWordThatBackendsShare) {
  using sim::Outcome;
  EXPECT_EQ(verdict_of(sim::Report{}), "completed");
  EXPECT_EQ(verdict_of(with_finding("cross_gang_cycle", Outcome::deadlock)), "stuck");
  EXPECT_EQ(verdict_of(with_finding("timed_out", Outcome::failed)), "stuck");
  EXPECT_EQ(verdict_of(with_finding("rank_failed", Outcome::failed)), "failed");
  EXPECT_EQ(verdict_of(with_finding("rank_failed", Outcome::deadlock)), "failed");
  EXPECT_EQ(verdict_of(with_finding("mismatch_count", Outcome::failed)), "mismatch_count");
  EXPECT_EQ(verdict_of(with_finding("wrong_result", Outcome::completed)), "wrong_result");
  EXPECT_EQ(verdict_of(with_finding("unwaited_work", Outcome::completed)), "completed");
}

TEST(CompareRuns, EqualOutputsAreEqualBitForBit) {
  const auto report =
      compare_runs(run_with(BackendKind::sim, {1, 2}), run_with(BackendKind::gloo, {1, 2}));
  EXPECT_TRUE(report.agrees());
  EXPECT_EQ(to_string(report),
            "AGREE  train, world 2: sim and gloo\n\n"
            "  Outcome    completed on both\n"
            "  Outputs    all 1 equal, bit for bit\n"
            "  Time       0.0 ms on sim, 0.0 ms on gloo\n\n"
            "  Reproduce  \n");
  EXPECT_TRUE(to_json(report)["agrees"].get<bool>());
}

TEST(CompareRuns, SumsInAnotherOrderAgreeButForRounding) {
  // Beside 1000, a difference in the last places of a small number is rounding.
  const auto report = compare_runs(run_with(BackendKind::sim, {1000.0F, 1.0F}),
                                   run_with(BackendKind::gloo, {1000.0F, 1.0001F}));
  EXPECT_TRUE(report.agrees());
  EXPECT_EQ(report.allowed_units, 2);
  EXPECT_THAT(to_string(report), HasSubstr("all 1 equal except for rounding"));
}

TEST(CompareRuns, TheSameAlgorithmsGiveTheSameBits) {
  EXPECT_FALSE(compare_runs(run_with(BackendKind::sim_gloo, {1000.0F, 1.0F}),
                            run_with(BackendKind::gloo, {1000.0F, 1.0001F}))
                   .agrees());
}

TEST(CompareRuns, TheFirstDifferenceIsNamed) {
  const auto report =
      compare_runs(run_with(BackendKind::sim, {1, 2}), run_with(BackendKind::gloo, {1, 3}));
  EXPECT_FALSE(report.agrees());
  EXPECT_THAT(to_string(report), HasSubstr("Difference rank 1, gradient[1]: 2 on sim, 3 on gloo"));
  EXPECT_EQ(to_json(report)["difference"], "rank 1, gradient[1]: 2 on sim, 3 on gloo");
}

TEST(CompareRuns, OtherOutcomesDiffer) {
  RunResult left = run_with(BackendKind::sim, {1});
  left.report = with_finding("cross_gang_cycle", sim::Outcome::deadlock);
  const auto report = compare_runs(left, run_with(BackendKind::gloo, {1}));
  EXPECT_FALSE(report.agrees());
  EXPECT_THAT(to_string(report), HasSubstr("Outcome    stuck on sim, completed on gloo"));
  EXPECT_THAT(to_string(report), HasSubstr("It is so."));
  RunResult right = run_with(BackendKind::gloo, {2});
  right.report = with_finding("timed_out", sim::Outcome::failed);
  EXPECT_TRUE(compare_runs(left, right).agrees());
}

TEST(CompareRuns, OutputsAreComparedWhereBothRunsComplete) {
  RunResult stuck = run_with(BackendKind::sim, {1});
  stuck.report = with_finding("cross_gang_cycle", sim::Outcome::deadlock);
  const RunResult complete = run_with(BackendKind::gloo, {2});
  EXPECT_EQ(compare_runs(stuck, complete).difference, std::nullopt);
  EXPECT_EQ(compare_runs(complete, stuck).difference, std::nullopt);
  EXPECT_NE(compare_runs(run_with(BackendKind::sim, {1}), complete).difference, std::nullopt);
}

TEST(CompareRuns, OutputsOfWrongResultsAreCompared) {
  RunResult left = run_with(BackendKind::sim, {1});
  left.report = with_finding("wrong_result", sim::Outcome::completed);
  RunResult right = run_with(BackendKind::gloo, {1});
  right.report = left.report;
  EXPECT_THAT(to_string(compare_runs(left, right)), HasSubstr("all 1 equal, bit for bit"));
  left.report = right.report = with_finding("timed_out", sim::Outcome::failed);
  EXPECT_THAT(to_string(compare_runs(left, right)), HasSubstr("not compared"));
}

TEST(CompareRuns, RunsWithoutOutputsHaveNoneToCompare) {
  RunResult left = run_with(BackendKind::sim, {});
  RunResult right = run_with(BackendKind::gloo, {});
  left.outputs.by_rank = right.outputs.by_rank = {{}, {}};
  EXPECT_THAT(to_string(compare_runs(left, right)), HasSubstr("Outputs    none\n"));
}

TEST(CompareRuns, TellsAllProblemsOfEachRun) {
  RunResult right = run_with(BackendKind::gloo, {1});
  right.report = with_finding("rank_failed", sim::Outcome::failed);
  right.report.findings.push_back(right.report.findings[0]);
  const AgreementReport report = compare_runs(run_with(BackendKind::sim, {1}), right);
  EXPECT_EQ(report.left_text, "");
  EXPECT_EQ(report.right_text, "It is so. It is so.");
}

TEST(CompareRuns, AProblemWithoutWordsHasNoLine) {
  RunResult right = run_with(BackendKind::gloo, {1});
  right.report = with_finding("rank_failed", sim::Outcome::failed);
  const AgreementReport told = compare_runs(run_with(BackendKind::sim, {1}), right);
  EXPECT_THAT(to_string(told), HasSubstr("\n  gloo       It is so.\n"));
  right.report.findings[0].message = "  ";
  const AgreementReport blank = compare_runs(run_with(BackendKind::sim, {1}), right);
  EXPECT_THAT(to_string(blank), testing::Not(HasSubstr("\n  gloo ")));
}

TEST(CompareRuns, CountsOutputsAndKeepsTheSeed) {
  RunResult left = run_with(BackendKind::sim, {1});
  left.outputs.by_rank[0] = {left.outputs.by_rank[1][0], left.outputs.by_rank[1][0]};
  RunResult right = left;
  right.specification.options.seed = 7;
  const AgreementReport report = compare_runs(left, right);
  EXPECT_EQ(report.outputs, 3U);
  EXPECT_EQ(report.seed, 7U);
}

}  // namespace
}  // namespace gang::harness
