#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/runner.h"
#include "sim/faults/fault_plan.h"

namespace gang::harness {
namespace {

RunResult run_body(Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = 4});
}

std::size_t longest_line_of(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

TEST(RunResultText, SummarisesARunThatHolds) {
  const std::string text = to_string(run_body([](Rank& rank) { rank.root()->barrier(); }));
  EXPECT_THAT(text, testing::StartsWith("COMPLETED  "));
  EXPECT_THAT(text, testing::HasSubstr("test, world 4, seed 1\n"));
  EXPECT_THAT(text, testing::HasSubstr("Every rank returned; nothing is blocked, "));
  EXPECT_THAT(text, testing::HasSubstr("4 operations by 4 ranks in 1 gang;"));
  EXPECT_EQ(longest_line_of(text), 80U);
}

TEST(RunResultText, OfNoOperationsThereAreSeveral) {
  EXPECT_THAT(to_string(run_body([](Rank&) {})), testing::HasSubstr("0 operations by 4 ranks"));
}

TEST(RunResultText, ListsTheErrorsThatTheProgramHandled) {
  const std::string text = to_string(run_body([](Rank& rank) {
    if (rank.rank() == 3) return rank.runtime().sleep_for(std::chrono::hours(1));
    try {
      rank.root()->barrier();
    } catch (const GangError&) {  // NOLINT(bugprone-empty-catch)
    }
  }));
  EXPECT_THAT(text, testing::StartsWith("COMPLETED  "));
  EXPECT_THAT(text, testing::HasSubstr("\n  Handled    barrier #0 on root[0-3] timed out"));
}

TEST(RunResultText, EndsWithTheCommandThatReproducesAFinding) {
  const std::string text =
      to_string(run_body([](Rank&) { throw std::runtime_error("out of paper"); }));
  EXPECT_THAT(text, testing::HasSubstr("rank_failed"));
  EXPECT_THAT(text, testing::HasSubstr("out of paper"));
  EXPECT_THAT(text, testing::EndsWith("\n  Reproduce  gangsim run test --world 4 --seed 1\n"));
  EXPECT_LE(longest_line_of(text), 80U);
}

TEST(RunResultText, SaysWhatRealTimeHadToDoWithIt) {
  RunResult result = run_body([](Rank& rank) { rank.root()->barrier(); });
  result.real_time.irreproducible = "rank 1 waited";
  EXPECT_THAT(to_string(result),
              testing::HasSubstr("\n  Note       not reproducible: rank 1 waited"));
}

TEST(RunResultText, EndsWithTheUnmetExpectation) {
  RunResult result = run_body([](Rank& rank) { rank.root()->barrier(); });
  result.unexpected = "the outcome is completed; expected: deadlock";
  EXPECT_THAT(
      to_string(result),
      testing::EndsWith("\n\n  Unexpected  the outcome is completed; expected: deadlock\n"));
}

RunResult with_faults(std::size_t count) {
  RunResult result = run_body([](Rank& rank) { rank.root()->barrier(); });
  result.report.fault_plan = std::make_shared<const sim::FaultPlan>(
      sim::FaultPlan{.faults = {{.kind = sim::FaultKind::slow}}});
  for (std::size_t i = 0; i < count; ++i)
    result.report.faults.push_back({.description = "fault " + std::to_string(i) + " happened"});
  return result;
}

TEST(RunResultText, NamesEightFaultsAndCountsTheOthers) {
  EXPECT_THAT(to_string(with_faults(8)), testing::Not(testing::HasSubstr("more")));
  const std::string nine = to_string(with_faults(9));
  EXPECT_THAT(nine, testing::HasSubstr("fault 7 happened"));
  EXPECT_THAT(nine, testing::Not(testing::HasSubstr("fault 8 happened")));
  EXPECT_THAT(nine, testing::HasSubstr("and 1 more"));
}

TEST(RunResultText, CountsAFaultThatHappenedAgain) {
  RunResult result = with_faults(2);
  result.report.faults[1].count = 2;
  const std::string text = to_string(result);
  EXPECT_THAT(text, testing::HasSubstr("fault 0 happened\n"));
  EXPECT_THAT(text, testing::HasSubstr("fault 1 happened, 2 times"));
}

TEST(RunResultText, ARunInWhichNoPlannedFaultHappenedSaysSo) {
  const std::string said = "  Faults     none of those planned happened in this run\n";
  EXPECT_THAT(to_string(with_faults(0)), testing::EndsWith(said));
  EXPECT_THAT(to_string(run_body([](Rank&) {})), testing::Not(testing::HasSubstr("Faults")));
  EXPECT_THAT(to_string(with_faults(1)), testing::Not(testing::HasSubstr(said)));
}

TEST(RunResultText, SaysWhatWasNotContained) {
  RunResult result = with_faults(1);
  result.uncontained = "rank 0 got a false mismatch";
  EXPECT_THAT(to_string(result), testing::HasSubstr("Not contained: rank 0 got a false mismatch"));
}

TEST(RunResultText, CallsAFileByItsName) {
  RunResult result = run_body([](Rank&) {});
  result.specification.program = "some/where/suspect.toml";
  EXPECT_THAT(to_string(result), testing::HasSubstr("  suspect.toml, world 4, seed 1\n"));
}

TEST(RunResultText, SaysOnceWhatSchedulesContendFor) {
  RunResult result = run_body([](Rank&) {});
  result.contested_choices = 3;
  result.explore = "gangsim explore test";
  const auto count_in = [](const std::string& text) {
    const std::string said = "3 choices, decided by:";
    const std::size_t first = text.find(said);
    return first == std::string::npos ? 0 : text.find(said, first + 1) == std::string::npos ? 1 : 2;
  };
  EXPECT_EQ(count_in(to_string(result)), 1);
  result.report.outcome = sim::Outcome::step_limit;
  EXPECT_EQ(count_in(to_string(result)), 1);
}

TEST(RunResultText, ListsTheFirstContestedChoicesOfARunThatHolds) {
  RunResult result = run_body([](Rank&) {});
  result.contested_choices = 5;
  result.explore = "gangsim explore test";
  result.choices = {"one", "two " + std::string(72, 'x'), "three", "four"};
  EXPECT_THAT(to_string(result),
              testing::HasSubstr("gangsim explore test\n    - one\n    - two\n      xxx"));
  EXPECT_THAT(to_string(result), testing::HasSubstr("\n    - three\n    - and 2 more\n"));
}

TEST(RunResultText, SaysThatARunThatHoldsIsAProof) {
  RunResult result = run_body([](Rank&) {});
  ASSERT_TRUE(result.is_in_every_schedule);
  EXPECT_THAT(to_string(result), testing::HasSubstr("\n  every schedule ends like this\n"));
  result.is_in_every_schedule = false;
  EXPECT_THAT(to_string(result), testing::Not(testing::HasSubstr("every schedule")));
}

TEST(RunResultText, SaysWhatIsDecisiveOfARunThatFails) {
  RunResult result = run_body([](Rank&) {});
  result.decisive = "rank 0 came before rank 1";
  EXPECT_EQ(decisive_text(result),
            "rank 0 came before rank 1. Decided the other way, the run holds.");
  EXPECT_THAT(to_string(result), testing::Not(testing::HasSubstr("Decisive")));
  result.report.outcome = sim::Outcome::step_limit;
  EXPECT_THAT(to_string(result), testing::HasSubstr("\n  Decisive   rank 0 came before rank 1."));
}

TEST(RunResultText, ARunHasASeedAndARecordingHasNone) {
  RunResult result{.world_size = 4};
  result.specification.program = "suspect.toml";
  result.report.outcome = sim::Outcome::deadlock;
  result.report.findings = {{.id = "deadlock", .message = "It is so."}};
  result.report.findings[0].certainty.emplace();
  EXPECT_THAT(to_string(result), testing::HasSubstr("suspect.toml, world 4, seed 1"));
  result.report.findings[0].certainty->recorded.emplace();
  EXPECT_THAT(to_string(result), testing::Not(testing::HasSubstr("seed")));
}

TEST(RunResultText, SaysWhenAFaultHappened) {
  RunResult result = with_faults(2);
  result.report.faults[1].time = Duration(1);
  const std::string text = to_string(result);
  EXPECT_THAT(text, testing::HasSubstr("fault 0 happened\n"));
  EXPECT_THAT(text, testing::HasSubstr("fault 1 happened at 1 ns"));
}

TEST(RunResultText, ARunThatHoldsInSpiteOfFaultsSaysSo) {
  EXPECT_THAT(to_string(with_faults(1)),
              testing::HasSubstr("Every rank that was left returned; the faults were contained."));
}

TEST(RunResultText, CallsARecordingByItsName) {
  RunResult result{.world_size = 4};
  result.specification.program = "some/where/dumps";
  result.report.outcome = sim::Outcome::deadlock;
  result.report.findings = {{.id = "deadlock", .message = "It is so."}};
  result.report.findings[0].certainty.emplace().recorded.emplace();
  EXPECT_THAT(to_string(result), testing::HasSubstr("  dumps, world 4\n"));
}

}  // namespace
}  // namespace gang::harness
