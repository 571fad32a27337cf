// Makes a failing run smaller, and writes it down.
#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program_file/program_source.h"
#include "harness/run/exploration.h"
#include "harness/run/fault_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

// Whoever meets a second error takes it for success.
Program careless_loop_program() {
  return {.name = "careless",
          .description = "",
          .run =
              [](Rank& rank) {
                std::int32_t sum = 1;
                for (std::int64_t i = 0; i < rank.parameter<std::int64_t>("steps"); ++i) {
                  try {
                    rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                  } catch (const GangError&) {
                  }
                }
                rank.output("sum", sum);
              },
          .parameters = {integer_parameter("steps", 5, {1, 10}, "sums")},
          .default_world_size = 8};
}

constexpr const char* many_faults = R"(
[[fault]]
kind = "slow"
ranks = [1, 2]
delay = "1s"
[[fault]]
kind = "crash"
ranks = [5, 6]
operation = 3
moment = "after"
notice = "3s"
[[fault]]
kind = "late_start"
ranks = [0]
delay = "1s"
)";

class FailureShrinking : public testing::Test {
 protected:
  FailureShrinking()
      : program_(careless_loop_program()),
        failure_(run(program_, {.program = "careless",
                                .world_size = 8,
                                .schedule = ScheduleChoice::random,
                                .faults = parse_faults(many_faults, ""),
                                .options = {.seed = 3}})) {}

  Program program_;
  RunResult failure_;
};

TEST_F(FailureShrinking, KeepsTheOneFaultThatMatters) {
  ASSERT_TRUE(is_failure(failure_)) << to_string(failure_);
  const SmallerFailure smaller = shrink_failure(program_, failure_);
  ASSERT_TRUE(is_failure(smaller.result)) << to_string(smaller.result);
  const RunSpecification& specification = smaller.result.specification;
  ASSERT_EQ(specification.faults->faults.size(), 1u);
  EXPECT_EQ(specification.faults->faults[0].kind, sim::FaultKind::crash);
  EXPECT_EQ(specification.faults->faults[0].ranks.size(), 1u);
  EXPECT_EQ(specification.schedule, ScheduleChoice::round_robin);
  EXPECT_LT(*specification.world_size, 8);
  EXPECT_GT(smaller.steps, 3u);
}

// In a small world, this program fails otherwise.
TEST(ShrinkFailure, KeepsTheFinding) {
  const Program program{.name = "two_bugs",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              if (rank.world_size() > 3) rank.wrong_result("of a large world");
                              if (rank.world_size() > 3) return;
                              rank.root()->start_barrier();
                            },
                        .default_world_size = 8};
  const auto first_finding = [](const RunResult& result) {
    return result.report.findings.at(0).id;
  };
  EXPECT_EQ(first_finding(run(program, {.program = "two_bugs", .world_size = 2})), "unwaited_work");
  const SmallerFailure smaller =
      shrink_failure(program, run(program, {.program = "two_bugs", .world_size = 8}));
  EXPECT_EQ(first_finding(smaller.result), "wrong_result");
  EXPECT_EQ(smaller.result.world_size, 4);
}

TEST_F(FailureShrinking, TheScenarioIsTheSameRun) {
  const SmallerFailure smaller = shrink_failure(program_, failure_);
  const std::string path = test::temporary_directory() + "found.toml";
  std::ofstream(path) << to_scenario(smaller.result, "careless", "Found in a test.");
  const ProgramSource source = find_program_source({program_}, path);
  const RunResult again = run(source.program, source.specification);
  EXPECT_EQ(again.report.trace.digest, smaller.result.report.trace.digest);
  EXPECT_EQ(again.uncontained, smaller.result.uncontained);
  EXPECT_EQ(unmet_expectation(source.expectation, again), "");
}

TEST_F(FailureShrinking, TheFaultThatIsLeftIsAsSimpleAsCanBe) {
  const SmallerFailure smaller = shrink_failure(program_, failure_);
  const sim::Fault& fault = smaller.result.specification.faults.value().faults.at(0);
  EXPECT_EQ(fault.trigger.moment, sim::FaultMoment::before);
  EXPECT_EQ(fault.notice, sim::Between<Duration>(Duration::zero()));
  EXPECT_LT(fault.trigger.operation.value().least, 3u);
}

TEST_F(FailureShrinking, EndsAfterSoManyAttempts) {
  EXPECT_EQ(shrink_failure(program_, failure_, {}, 3).attempts, 3u);
}

// The name of a preset would stand for its faults, and not for those that are left.
TEST(ShrinkFailure, WhatIsLeftOfAPresetHasNoName) {
  const Program program = careless_loop_program();
  const Exploration found =
      explore(program, {.program = "careless", .world_size = 4, .faults = load_faults("light")},
              {.schedules = 200, .strategy = Strategy::random});
  ASSERT_TRUE(found.failure);
  const SmallerFailure smaller = shrink_failure(program, *found.failure);
  const sim::FaultPlan& plan = smaller.result.specification.faults.value();
  EXPECT_EQ(plan.name, "");
  ASSERT_EQ(plan.faults.size(), 1u);
  EXPECT_EQ(plan.faults[0].ranks.size(), 1u);
}

Program wrong_where(const std::function<bool(Rank&)>& is_wrong) {
  return {.name = "wrong",
          .description = "",
          .run =
              [is_wrong](Rank& rank) {
                if (is_wrong(rank)) rank.wrong_result("It is.");
              },
          .parameters = {integer_parameter("size", 8, {1, 10}, "of something")}};
}

TEST(ShrinkFailure, FindsTheSmallestWorldAndTheSmallestParameters) {
  const Program program = wrong_where([](Rank& rank) {
    return rank.world_size() >= 3 && rank.parameter<std::int64_t>("size") >= 2;
  });
  const SmallerFailure smaller =
      shrink_failure(program, run(program, {.program = "wrong", .world_size = 8}));
  EXPECT_EQ(smaller.result.world_size, 3);
  EXPECT_EQ(smaller.result.specification.parameters.at("size"), "2");
}

TEST(ShrinkFailure, AnotherOutcomeIsAnotherFailure) {
  const Program program{.name = "two_ends", .description = "", .run = [](Rank& rank) {
                          rank.wrong_result("It always is.");
                          if (rank.world_size() < 4) throw std::runtime_error("too small");
                        }};
  const SmallerFailure smaller =
      shrink_failure(program, run(program, {.program = "two_ends", .world_size = 8}));
  EXPECT_EQ(smaller.result.report.outcome, sim::Outcome::completed);
  EXPECT_EQ(smaller.result.world_size, 4);
}

TEST(ToScenario, KeepsTextsAsTheyAreAndExpectsEveryFinding) {
  RunResult result;
  result.world_size = 3;
  result.specification = {.program = "a", .parameters = {{"path", "C:\\new \"x\""}}};
  result.report.findings = {{.id = "timed_out", .ranks = {1}}, {.id = "rank_failed", .ranks = {2}}};
  const std::string path = test::temporary_directory() + "texts.toml";
  std::ofstream(path) << to_scenario(result, "a\\b", "Found in a test,\n[of] two lines.");
  const Program program{.name = "a\\b",
                        .description = "",
                        .run = [](Rank&) {},
                        .parameters = {text_parameter("path", "", "of something")}};
  const ProgramSource source = find_program_source({program}, path);
  EXPECT_EQ(source.program.name, "a\\b");
  EXPECT_EQ(source.specification.world_size, 3);
  EXPECT_EQ(source.specification.parameters, result.specification.parameters);
  EXPECT_EQ(source.expectation.ranks, (std::vector{1, 2}));
  EXPECT_EQ(source.expectation.findings, (std::vector<std::string>{"rank_failed", "timed_out"}));
}

TEST(ToScenario, WritesFaultsAsTheirTablesOnly) {
  RunResult result;
  result.specification = {.program = "a", .faults = load_faults(many_faults)};
  const std::string text = to_scenario(result, "a", "");
  EXPECT_THAT(text, testing::HasSubstr("[[faults.fault]]"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("faults =")));
}

// Both runs begin with the work that rank 0 drops; the smaller one is a deadlock.
TEST(ShrinkFailure, KeepsTheOutcome) {
  const Program program{.name = "ends",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              Work work;
                              if (rank.rank() == 0) work = rank.root()->start_barrier();
                              if (rank.rank() == 1 && rank.parameter<std::int64_t>("size") > 1)
                                throw std::runtime_error("too large");
                            },
                        .parameters = {integer_parameter("size", 2, {1, 4}, "of something")},
                        .default_world_size = 2};
  const RunResult failure = run(program, {.program = "ends"});
  ASSERT_EQ(failure.report.outcome, sim::Outcome::failed);
  EXPECT_EQ(shrink_failure(program, failure).result.report.outcome, sim::Outcome::failed);
}

TEST(ShrinkFailure, TriesAgainWhatASmallerParameterMakesPossible) {
  const Program program = wrong_where(
      [](Rank& rank) { return rank.world_size() >= rank.parameter<std::int64_t>("size"); });
  const SmallerFailure smaller =
      shrink_failure(program, run(program, {.program = "wrong", .world_size = 8}));
  EXPECT_EQ(smaller.result.specification.parameters.at("size"), "1");
  EXPECT_EQ(smaller.result.world_size, 1);
}

TEST(ShrinkFailure, DoesNotTryWhatIsNotSmaller) {
  const Program program = wrong_where([](Rank&) { return true; });
  const RunSpecification smallest{
      .program = "wrong", .world_size = 1, .parameters = {{"size", "1"}}};
  const SmallerFailure smaller = shrink_failure(program, run(program, smallest));
  EXPECT_EQ(smaller.attempts, 0U);
  EXPECT_EQ(smaller.result.specification.parameters.at("size"), "1");
}

// The only fault of `plan` that is left where no fault matters, in a world of 4 ranks.
RunSpecification left_of(const std::string& plan) {
  const Program program = wrong_where([](Rank&) { return true; });
  const RunSpecification specification{
      .program = "wrong", .world_size = 4, .faults = parse_faults(plan, "")};
  return shrink_failure(program, run(program, specification)).result.specification;
}

TEST(ShrinkFailure, AFaultThatDoesNotMatterIsReducedToItsKind) {
  const sim::FaultPlan slow =
      left_of("[[fault]]\nkind = \"slow\"\nranks = [0, 1]\ndelay = \"8ms\"\nfactor = 4")
          .faults.value();
  ASSERT_EQ(slow.faults.size(), 1U);
  EXPECT_EQ(slow.faults[0].factor, 1);
  EXPECT_EQ(slow.faults[0].delay, sim::Between<Duration>(Duration::zero()));
  EXPECT_EQ(slow.faults[0].ranks, std::vector{0});
  const sim::FaultPlan stall =
      left_of("[[fault]]\nkind = \"stall\"\nranks = [0]\nfor = \"2s\"\noperation = 9")
          .faults.value();
  EXPECT_EQ(stall.faults.at(0).lasts, std::nullopt);
  EXPECT_EQ(stall.faults[0].trigger.operation, sim::Between<std::uint64_t>(0));
}

TEST(ShrinkFailure, ALinkKeepsBothItsEnds) {
  const RunSpecification left =
      left_of("[[fault]]\nkind = \"slow_link\"\nranks = [0]\nto = [1, 3]\ndelay = \"1ms\"");
  EXPECT_EQ(left.world_size, 2);
  const sim::Fault& fault = left.faults.value().faults.at(0);
  EXPECT_EQ(fault.ranks, std::vector{0});
  EXPECT_EQ(fault.to, std::vector{1});
}

// Rank 0 wants another message of rank 2, if that one's came first; and ranks above 2 are of no
// use, nor are rounds before the last.
Program order_matters_program() {
  return {.name = "order",
          .description = "",
          .run =
              [](Rank& rank) {
                std::int32_t value = rank.rank();
                for (std::int64_t i = 0; i < rank.parameter<std::int64_t>("rounds"); ++i)
                  rank.root()->barrier();
                if (rank.rank() == 1 || rank.rank() == 2) rank.root()->send(view_of(value), 0);
                if (rank.rank() != 0) return;
                const int first = rank.root()->recv(view_of(value)).source_rank;
                rank.root()->recv(view_of(value), first == 1 ? any_rank : 2);
              },
          .parameters = {integer_parameter("rounds", 4, {0, 10}, "barriers")},
          .default_world_size = 8};
}

Exploration exploration_of(const Program& program, const ExplorationOptions& options = {}) {
  return explore(program, {.program = program.name, .world_size = 8}, options);
}

TEST(ShrinkExploration, FindsTheScheduleOfTheSmallestProgram) {
  const Program program = order_matters_program();
  const Exploration large = exploration_of(program);
  ASSERT_TRUE(large.failure && large.detours);
  const SmallerExploration smaller = shrink_exploration(program, large);
  const RunResult& failure = smaller.exploration.failure.value();
  EXPECT_EQ(failure.report.outcome, large.failure->report.outcome);
  EXPECT_EQ(failure.world_size, 3);
  EXPECT_EQ(failure.specification.parameters.at("rounds"), "0");
  EXPECT_GE(smaller.steps, 2U);
  EXPECT_GT(smaller.attempts, smaller.steps) << "2 ranks do not fail";
  EXPECT_EQ(smaller.exploration.every->decisive->first.rank, 1);
  EXPECT_EQ(smaller.exploration.every->holds_otherwise, true);
  EXPECT_THAT(*smaller.exploration.detours, testing::SizeIs(1));
}

// The ranks that its finding names are those of the smaller program.
TEST(ShrinkExploration, OfDifferentResultsIsARaceOfTheSmallestProgram) {
  const Program program{.name = "first", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = rank.rank();
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          for (int i = 1; i < rank.world_size(); ++i) {
                            rank.root()->recv(view_of(value));
                            if (i + 1 == rank.world_size()) rank.output("last", value);
                          }
                        }};
  Exploration large = explore(program, {.program = "first", .world_size = 5}, {});
  ASSERT_TRUE(large.failure);
  const RunResult smaller = shrink_exploration(program, large).exploration.failure.value();
  EXPECT_EQ(smaller.world_size, 3);
  ASSERT_FALSE(smaller.report.findings.empty());
  EXPECT_EQ(smaller.report.findings[0].id, sim::finding_id::message_race);
  EXPECT_EQ(smaller.report.findings[0].ranks, (std::vector<int>{0, 1, 2}));
}

TEST(ShrinkExploration, OfDrawnRunsFindsWhatIsDecisive) {
  const Program program = order_matters_program();
  const Exploration drawn = exploration_of(program, {.strategy = Strategy::pos});
  ASSERT_TRUE(drawn.failure && drawn.detours && drawn.sample);
  const SmallerExploration smaller = shrink_exploration(program, drawn);
  EXPECT_EQ(smaller.exploration.failure->world_size, 3);
  EXPECT_EQ(smaller.exploration.failure->report.outcome, drawn.failure->report.outcome);
  EXPECT_FALSE(smaller.exploration.sample);
  EXPECT_TRUE(smaller.exploration.every && smaller.exploration.every->decisive);
}

// Faults that are picked at random cannot be explored, but those of one run can be left out.
TEST(ShrinkExploration, OfDrawnFaultsLeavesTheOneThatMatters) {
  const Program program = careless_loop_program();
  const Exploration drawn =
      explore(program, {.program = "careless", .world_size = 8, .faults = load_faults("light")},
              {.schedules = 200, .strategy = Strategy::pos});
  ASSERT_TRUE(drawn.failure && drawn.detours && drawn.sample);
  const SmallerExploration smaller = shrink_exploration(program, drawn);
  const RunSpecification& specification = smaller.exploration.failure->specification;
  EXPECT_EQ(specification.faults.value().faults.size(), 1U);
  EXPECT_LT(*specification.world_size, 8);
  EXPECT_TRUE(smaller.exploration.sample);
  EXPECT_GE(smaller.steps, 2U);
}

TEST(ShrinkExploration, EndsAfterSoManyRuns) {
  const Program program = order_matters_program();
  const SmallerExploration smaller = shrink_exploration(program, exploration_of(program), 1);
  EXPECT_EQ(smaller.attempts, 1U);
}

TEST(ShrinkExploration, LeavesAProgramThatDoesNotRepeatItself) {
  const Program program = order_matters_program();
  Exploration exploration = exploration_of(program);
  exploration.failure->report.findings = {
      {.id = std::string{sim::finding_id::nondeterminism}, .message = "differs"}};
  const SmallerExploration smaller = shrink_exploration(program, exploration);
  EXPECT_EQ(smaller.attempts, 0U);
  EXPECT_EQ(smaller.exploration.failure->world_size, 8);
}

}  // namespace
}  // namespace gang::harness
