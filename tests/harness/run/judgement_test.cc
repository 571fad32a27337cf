#include "harness/run/judgement.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/careless_program.h"
#include "tests/harness/run/first_message_program.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const Program& program(std::string_view name) {
  static const std::vector<Program> programs = with_faulty_programs(all_programs());
  return find_program(programs, name);
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Judge, ProvesAProgramWithoutContestedChoicesInOneSchedule) {
  const Judgement judgement = judge(program("ring"), {.world_size = 4});
  EXPECT_EQ(judgement.claim, Claim::proved);
  EXPECT_TRUE(judgement.holds());
  EXPECT_TRUE(judgement.run.holds());
  EXPECT_FALSE(judgement.failure);
  ASSERT_TRUE(judgement.exploration);
  EXPECT_EQ(judgement.exploration->every->classes, 1U);
  EXPECT_EQ(&judgement.shown(), &judgement.run);
  EXPECT_THAT(to_string(judgement), StartsWith("PROVED  ring, 1 schedule"));
}

// No schedule leads to it again, but the same run, twice.
TEST(ExplainFailure, OfAProgramThatDoesNotRepeatItselfIsARunThatIsMadeTwice) {
  const auto runs = std::make_shared<int>(0);
  const Program program{.name = "counts", .description = "", .run = [runs](Rank& rank) {
                          rank.root()->barrier();
                          if (rank.rank() == 0) rank.output("run", std::int32_t{++*runs});
                        }};
  for (const Strategy strategy : {Strategy::automatic, Strategy::random, Strategy::pct}) {
    const Exploration exploration = explore(program, {.program = "counts", .world_size = 4},
                                            {.schedules = 10, .strategy = strategy});
    ASSERT_TRUE(exploration.failure);
    const ExplainedFailure explained = explain_failure(program, exploration);
    ASSERT_THAT(explained.result.report.findings, SizeIs(1));
    EXPECT_EQ(explained.result.report.findings[0].id, sim::finding_id::nondeterminism);
    EXPECT_FALSE(explained.schedule);
    EXPECT_EQ(explained.result.world_size, 1);
    EXPECT_THAT(explained.result.reproduce, HasSubstr(" --schedule recheck"));
  }
}

TEST(Judge, DoesNotExploreWhatFailsByItself) {
  const Judgement judgement = judge(program("missing_rank"), {.world_size = 4});
  EXPECT_EQ(judgement.claim, Claim::found);
  EXPECT_FALSE(judgement.holds());
  EXPECT_FALSE(judgement.exploration);
  ASSERT_THAT(judgement.shown().report.findings, SizeIs(1));
  // Settled: further runs have shown that it is not by chance.
  ASSERT_TRUE(judgement.run.report.findings[0].certainty);
  EXPECT_EQ(to_string(judgement), to_string(judgement.run));
}

TEST(Judge, FindsTheScheduleThatFailsAndTheWayToItAgain) {
  const Program& lost_wakeup = program("lost_wakeup");
  const Judgement judgement = judge(lost_wakeup, {}, {.binary = "tool"});
  EXPECT_TRUE(judgement.run.holds());
  EXPECT_GT(judgement.run.contested_choices, 0U);
  EXPECT_EQ(judgement.claim, Claim::found);
  ASSERT_TRUE(judgement.failure);
  ASSERT_TRUE(judgement.failure->schedule);
  ASSERT_TRUE(judgement.failure->schedule->detours);
  EXPECT_THAT(*judgement.failure->schedule->detours, SizeIs(1));
  EXPECT_GE(judgement.failure->detours_found, 1U);
  EXPECT_EQ(judgement.shown().report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(judgement.shown().reproduce, StartsWith("tool "));
  const std::string text = to_string(judgement);
  EXPECT_THAT(text, StartsWith("FOUND  lost_wakeup, schedule "));
  EXPECT_THAT(text, HasSubstr(schedule_text(*judgement.failure)));
  EXPECT_LE(longest_line(text), 80U);

  const ReplayedRun again =
      replay_saved(saved_schedule_from_text(to_text(*judgement.failure->schedule)), lost_wakeup,
                   {.trace = sim::Recording::on});
  EXPECT_THAT(again.change, IsEmpty());
  EXPECT_EQ(again.result.report.outcome, sim::Outcome::deadlock);
}

TEST(Judge, MakesAFailureUnderFaultsSmaller) {
  const Judgement judgement =
      judge(careless_program(),
            {.world_size = 4,
             .faults = load_faults("[[fault]]\nkind = \"crash\"\nranks = [3]\noperation = 1\n")},
            {.exploration = ExplorationOptions{.schedules = 50}});
  ASSERT_EQ(judgement.claim, Claim::found) << to_string(judgement);
  const RunResult& shown = judgement.shown();
  EXPECT_FALSE(shown.uncontained.empty());
  const RunResult again = run(careless_program(), shown.specification);
  EXPECT_EQ(again.uncontained, shown.uncontained);
}

TEST(Judge, WithoutExplorationASingleRunIsNoMoreThanASample) {
  const Judgement judgement = judge(program("ring"), {.world_size = 4}, {.exploration = {}});
  EXPECT_EQ(judgement.claim, Claim::sampled);
  EXPECT_TRUE(judgement.holds());
  EXPECT_FALSE(judgement.exploration);
}

TEST(Judge, WhereTheOperatingSystemSchedulesThereIsNothingToExplore) {
  const Judgement judgement =
      judge(program("ring"), {.world_size = 2, .options = {.context = sim::ContextKind::parallel}});
  EXPECT_EQ(judgement.claim, Claim::sampled);
  EXPECT_FALSE(judgement.exploration);
}

TEST(Judge, ThrowsWhatARunDoesNotAccept) {
  EXPECT_THROW(judge(program("ring"), {.world_size = 0}), InvalidArgument);
}

// What is left to chance: sampled runs differ in their seeds, the first failure does not.
TEST(Judge, OfDrawnSchedulesFindsTheSameFailureWithAnyNumberOfThreads) {
  std::optional<std::string> report;
  for (const int jobs : {1, 3}) {
    const Judgement judgement =
        judge(program("lock_order"), {},
              {.exploration = ExplorationOptions{
                   .schedules = 200, .jobs = jobs, .strategy = Strategy::random}});
    ASSERT_EQ(judgement.claim, Claim::found);
    const std::string found = to_string(judgement.shown().report);
    EXPECT_EQ(report.value_or(found), found);
    report = found;
  }
}

TEST(Judge, KeepsWhatTheExplorationHasSeenOfAnOutput) {
  const Program first = first_message_program();
  const Exploration exploration =
      explore(first, {.program = "first", .world_size = 3}, {.strategy = Strategy::exhaustive});
  ASSERT_TRUE(exploration.failure);
  const ExplainedFailure explained = explain_failure(first, exploration);
  EXPECT_EQ(explained.result.report.outcome, sim::Outcome::completed);
  ASSERT_THAT(explained.result.report.findings, SizeIs(1));
  EXPECT_EQ(explained.result.report.findings[0].id, sim::finding_id::message_race);
  EXPECT_EQ(explained.result.report.findings[0], exploration.failure->report.findings[0]);
}

TEST(Summary, NamesTheSeedsOfTheDrawnRuns) {
  Exploration exploration{.coverage = {.runs = 12}};
  const RunSpecification from_5{.program = "ring", .options = {.seed = 5}};
  EXPECT_THAT(summary_of(from_5, exploration, 12), HasSubstr("ring, seeds 5 to 16\n"));
  exploration.sample = Sample{.runs = 4};
  EXPECT_THAT(summary_of(from_5, exploration, 12), HasSubstr("ring, seeds 5 to 8\n"));
  exploration.sample->runs = 1;
  EXPECT_THAT(summary_of(from_5, exploration, 12), HasSubstr("ring, seed 5\n"));
}

TEST(Summary, SaysThatResultsDiffer) {
  Exploration exploration{.claim = Claim::proved, .results = 2};
  exploration.every.emplace().classes = 3;
  EXPECT_THAT(summary_of({.program = "ring"}, exploration, 10), HasSubstr("2 different results"));
  exploration.results = 1;
  EXPECT_THAT(summary_of({.program = "ring"}, exploration, 10),
              testing::Not(HasSubstr("different")));
}

TEST(ScheduleText, SaysHowManyTheyWereIfTheyAreFewer) {
  ExplainedFailure failure;
  failure.schedule.emplace().detours =
      std::vector<sim::Detour>{{{.context = "rank 0", .did = "call", .number = 1}, "rank 2"}};
  failure.detours_found = 1;
  EXPECT_THAT(schedule_text(failure), testing::Not(HasSubstr("reduced")));
  failure.detours_found = 2;
  EXPECT_THAT(schedule_text(failure), HasSubstr("reduced from 2"));
}

TEST(ScheduleText, BeginsWithTheSmallerProgramAndWhatDecides) {
  const Program& lost_wakeup = program("lost_wakeup");
  const Exploration exploration = explore(lost_wakeup, {.world_size = 8}, {});
  const ExplainedFailure smaller = explain_failure(lost_wakeup, exploration);
  EXPECT_LT(smaller.result.world_size, 8);
  ASSERT_TRUE(smaller.every && smaller.every->continuations);
  const std::string text = schedule_text(smaller);
  EXPECT_THAT(text, StartsWith(fmt::format("  Shrunk to world {} in ", smaller.result.world_size)));
  EXPECT_THAT(text, HasSubstr(".\n  Decisive: "));
  EXPECT_THAT(text, HasSubstr(sim::to_text(*smaller.every->continuations) + "\n  1 detour"));
  const ExplainedFailure same = explain_schedule(lost_wakeup, exploration);
  EXPECT_EQ(same.result.world_size, 8);
  EXPECT_EQ(same.steps, 0U);
  EXPECT_THAT(schedule_text(same), StartsWith("  Decisive: "));
}

TEST(ExplainFailure, LeavesTheDetoursThatAreNeeded) {
  const Program program{.name = "order", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 7;
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          std::vector<int> order;
                          for (int i = 1; i < rank.world_size(); ++i)
                            order.push_back(rank.root()->recv(view_of(value)).source_rank);
                          if (std::ranges::find(order, 3) < std::ranges::find(order, 1))
                            rank.root()->recv(view_of(value));
                        }};
  std::optional<Exploration> found;
  for (std::uint64_t seed = 1; seed <= 20 && (!found || found->detours->size() < 2); ++seed) {
    found = explore(program, {.program = "order", .world_size = 5, .options = {.seed = seed}},
                    {.schedules = 100, .strategy = Strategy::pos});
    ASSERT_TRUE(found->failure && found->detours);
  }
  ASSERT_GE(found->detours->size(), 2U);
  const ExplainedFailure explained = explain_failure(program, *found);
  EXPECT_THAT(*explained.schedule->detours, SizeIs(1));
  EXPECT_EQ(explained.detours_found, found->detours->size());
}

TEST(ExplainFailure, KeepsThatItIsInEverySchedule) {
  const Program program{.name = "alone", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 0;
                          if (rank.rank() == 0) return rank.root()->barrier();
                          Work received = rank.root()->start_recv(view_of(value), 1);
                          rank.root()->send(view_of(value), 1);
                          received.wait();
                        }};
  const Exploration found = explore(program, {.program = "alone", .world_size = 2}, {});
  ASSERT_TRUE(found.failure);
  const RunResult explained = explain_failure(program, found).result;
  EXPECT_TRUE(explained.is_in_every_schedule);
  ASSERT_TRUE(explained.report.certainty);
  EXPECT_EQ(explained.report.certainty->schedules, sim::Schedules::every);
}

TEST(ExplainFailure, KeepsThatAnotherScheduleAvoidsIt) {
  const Program program{.name = "first", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 0;
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          const int first = rank.root()->recv(view_of(value)).source_rank;
                          rank.root()->recv(view_of(value), first == 1 ? any_rank : 2);
                        }};
  const Exploration found = explore(program, {.program = "first", .world_size = 3}, {});
  ASSERT_TRUE(found.failure);
  const RunResult explained = explain_failure(program, found).result;
  ASSERT_TRUE(explained.report.certainty);
  EXPECT_TRUE(explained.report.certainty->is_avoided);
}

TEST(Summary, WithoutSchedulesThereIsNoRun) {
  EXPECT_EQ(summary_of({.program = "ring"}, {}, 0),
            "SAMPLED  ring, no run: there are more shards than schedules\n");
}

TEST(Summary, SaysThatAProofIsOneOfBufferedSendsToo) {
  const auto summary = [](const RunSpecification& specification) {
    return summary_of(specification, explore(program("ring"), specification, {}), 10);
  };
  RunSpecification ring{.program = "ring", .world_size = 4};
  EXPECT_THAT(summary(ring), HasSubstr("Proved with rendezvous sends, and so with buffered ones"));
  ring.options.sends = sim::SendMode::buffered(8);
  EXPECT_THAT(summary(ring), testing::Not(HasSubstr("rendezvous")));
  ring.options.sends = {};
  ring.faults = load_faults("one_crash");
  EXPECT_THAT(summary(ring), testing::Not(HasSubstr("rendezvous")));
}

TEST(Summary, CountsTheChoicesOfARun) {
  Exploration exploration{.claim = Claim::proved};
  exploration.every.emplace().classes = 2;
  exploration.every->contests = 1;
  const std::string text = summary_of({.program = "ring"}, exploration, 10);
  EXPECT_THAT(text,
              HasSubstr("PROVED  ring, 2 schedules: every other one is equivalent to one of"));
  EXPECT_THAT(text, HasSubstr("  1 contested choice in a run at most; 0 runs cut short\n"));
}

TEST(Summary, WithoutContestedChoicesSaysNothingOfThem) {
  Exploration exploration{.claim = Claim::proved};
  exploration.every.emplace().classes = 1;
  EXPECT_THAT(summary_of({.program = "ring"}, exploration, 10),
              testing::Not(HasSubstr("contested choice")));
}

TEST(Summary, SaysWhyNoMoreThanASampleWasTakenOnlyIfItFoundNothing) {
  Exploration exploration{.coverage = {.runs = 1}};
  exploration.every = {.end = sim::EverySchedule::End::unguided,
                       .unguided = sim::Unguided::backend};
  const RunSpecification of_gloo{.program = "ring", .backend = BackendKind::sim_gloo};
  EXPECT_THAT(summary_of(of_gloo, exploration, 10),
              HasSubstr("A sample: a run depends on aborts, lost connections, shrinking"));
  exploration.claim = Claim::found;
  exploration.failure.emplace();
  EXPECT_THAT(summary_of(of_gloo, exploration, 10), testing::Not(HasSubstr("A sample")));
}

TEST(ExplainFailure, TheCommandBeginsWithTheBinary) {
  const Program always_fails{
      .name = "fails", .description = "", .run = [](Rank& rank) { rank.wrong_result("always"); }};
  const Exploration found = explore(always_fails, {.program = "fails", .world_size = 4},
                                    {.schedules = 3, .strategy = Strategy::random});
  EXPECT_THAT(explain_failure(always_fails, found, "tool").result.reproduce,
              StartsWith("tool run fails --world 1 --seed 1"));
}

}  // namespace
}  // namespace gang::harness
