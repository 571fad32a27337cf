#include "harness/run/exhaustive_runs.h"

#include <atomic>
#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/fault_file.h"
#include "sim/further_runs/contest_text.h"
#include "tests/harness/run/careless_program.h"
#include "tests/harness/run/first_message_program.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

bool always() { return true; }

Exploration explored(const Program& program, RunSpecification specification) {
  Exploration exploration;
  run_exhaustively(program, specification, always, exploration);
  return exploration;
}

// Rank 0 hangs if the message of rank 2 comes first, whatever is in it.
Program hangs_if_rank_2_is_first() {
  return {.name = "second_first", .description = "", .run = [](Rank& rank) {
            std::int32_t value = 7;
            if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
            const int first = rank.root()->recv(view_of(value)).source_rank;
            rank.root()->recv(view_of(value), first == 2 ? 2 : any_rank);
          }};
}

TEST(ExhaustiveRuns, ProvesWhatHoldsUnderEverySchedule) {
  const Exploration ring = explored(ring_program(), {.program = "ring", .world_size = 8});
  EXPECT_EQ(ring.claim, Claim::proved);
  EXPECT_EQ(ring.every->classes, 1u);
  EXPECT_EQ(ring.results, 1u);
}

TEST(ExhaustiveRuns, FindsTheMessageThatHangsAndSaysSo) {
  const Exploration found =
      explored(hangs_if_rank_2_is_first(), {.program = "second_first", .world_size = 3});
  EXPECT_EQ(found.claim, Claim::found);
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->report.outcome, sim::Outcome::deadlock);
  ASSERT_TRUE(found.every->decisive);
  EXPECT_EQ(found.every->decisive->first.rank, 1);
  EXPECT_EQ(found.every->decisive->second.rank, 2);
  EXPECT_EQ(found.every->holds_otherwise, true);
  EXPECT_THAT(to_text(*found.every->decisive), HasSubstr("took the message of rank 2"));
  const RunResult again = replay(hangs_if_rank_2_is_first(), found.failure->specification,
                                 found.failure->report.schedule);
  EXPECT_EQ(again.report.outcome, sim::Outcome::deadlock);
}

TEST(ExhaustiveRuns, AResultThatDependsOnTheMessageIsARace) {
  const Program program = first_message_program();
  const Exploration found = explored(program, {.program = "first", .world_size = 3});
  EXPECT_EQ(found.claim, Claim::found);
  EXPECT_EQ(found.results, 2u);
  ASSERT_TRUE(found.failure);
  ASSERT_EQ(found.failure->report.findings.size(), 1u);
  EXPECT_EQ(found.failure->report.findings[0].id, sim::finding_id::message_race);
  EXPECT_THAT(found.failure->report.findings[0].ranks, testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(to_string(found.failure->report.findings[0].location),
              testing::StartsWith("first_message_program.h:"));
}

// Rank 0 takes it for granted that rank 1 has sent when it looks: by itself, a run shows it so.
TEST(ExhaustiveRuns, FindsATestThatSucceedsInOneOrderOnly) {
  const Program program{.name = "impatient", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 7;
                          if (rank.rank() == 1) return rank.root()->send(view_of(value), 0);
                          Work work = rank.root()->start_recv(view_of(value), 1);
                          if (work.test()) return;
                          work.wait();
                          rank.root()->barrier();
                        }};
  const RunSpecification two_ranks{.program = "impatient", .world_size = 2};
  EXPECT_TRUE(run(program, two_ranks).holds());
  const Exploration found = explored(program, two_ranks);
  EXPECT_EQ(found.claim, Claim::found);
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->report.outcome, sim::Outcome::deadlock);
  ASSERT_EQ(found.failure->report.findings.size(), 1u);
  EXPECT_EQ(found.failure->report.findings[0].id, sim::finding_id::participant_missing);
  ASSERT_TRUE(found.every->decisive);
  EXPECT_EQ(found.every->decisive->first.rank, 1);  // by itself; and before it, where it is found:
  EXPECT_EQ(found.every->decisive->second.rank, 0);
  EXPECT_EQ(found.every->holds_otherwise, true);
}

// A message to oneself is a choice among its sources, which nothing decides here.
void wait_for_nobody(Rank& rank) {
  std::int32_t value = 0;
  if (rank.rank() == 0) return rank.root()->barrier();
  Work received = rank.root()->start_recv(view_of(value), 1);
  rank.root()->send(view_of(value), 1);
  received.wait();
}

TEST(ExhaustiveRuns, AFailureWithoutContestedChoicesIsInEverySchedule) {
  const Program uncontested{.name = "uncontested", .description = "", .run = wait_for_nobody};
  const RunSpecification two_ranks{.program = "uncontested", .world_size = 2};
  const Exploration found = explored(uncontested, two_ranks);
  ASSERT_TRUE(found.failure);
  EXPECT_TRUE(found.failure->is_in_every_schedule);
  ASSERT_TRUE(found.failure->report.certainty);
  EXPECT_EQ(found.failure->report.certainty->schedules, sim::Schedules::every);
  EXPECT_TRUE(found.failure->report.certainty->is_uncontested);
}

TEST(ExhaustiveRuns, AFailureAfterAContestedChoiceIsInThisSchedule) {
  const Program contested{.name = "contested", .description = "", .run = [](Rank& rank) {
                            std::int32_t value = 0;
                            if (rank.rank() == 0) rank.root()->recv(view_of(value));
                            if (rank.rank() == 0) return rank.root()->barrier();
                            rank.root()->send(view_of(value), 0);
                          }};
  const Exploration found = explored(contested, {.program = "contested", .world_size = 3});
  ASSERT_TRUE(found.failure);
  EXPECT_FALSE(found.failure->is_in_every_schedule);
  ASSERT_TRUE(found.failure->report.certainty);
  EXPECT_EQ(found.failure->report.certainty->schedules, sim::Schedules::at_least_this);
}

constexpr std::string_view one_crash =
    "[[fault]]\nkind = \"crash\"\noperation = [0, 100]\nmoment = \"any\"\nnotice = \"1s\"\n";

// Two all_reduces: a rank dies before, inside (either of the others may get the error), or after.
TEST(ExhaustiveRuns, ProvesThatACrashAnywhereIsContained) {
  const Program program{.name = "careful", .description = "", .run = [](Rank& rank) {
                          std::int32_t sum = 1;
                          for (int i = 0; i < 2; ++i)
                            rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                          rank.output("sum", sum);
                        }};
  const Exploration careful =
      explored(program, {.program = "careful", .world_size = 3, .faults = load_faults(one_crash)});
  EXPECT_EQ(careful.claim, Claim::proved);
  EXPECT_EQ(careful.fault_cases, 3U * 2 * (1 + 4 + 1));
  EXPECT_GE(careful.every->classes, careful.fault_cases + 1);
  EXPECT_EQ(careful.coverage.kinds.at("crash").places.size(), 2U * 3);
  EXPECT_EQ(careful.results, 1U);  // without faults
}

TEST(ExhaustiveRuns, FindsWhereACrashIsNotContained) {
  const RunSpecification specification{
      .program = "careless", .world_size = 3, .faults = load_faults(one_crash)};
  const Exploration found = explored(careless_program(), specification);
  EXPECT_EQ(found.claim, Claim::found);
  ASSERT_TRUE(found.failure);
  EXPECT_NE(found.failure->uncontained, "");
  ASSERT_EQ(found.failure->report.faults.size(), 1U);
  EXPECT_NE(found.failure->report.faults[0].rank, 0);
}

TEST(ExhaustiveRuns, WhatIsLeftToChanceIsNotProved) {
  RunSpecification specification{.program = "ring", .world_size = 3};
  EXPECT_TRUE(can_be_exhaustive(specification));
  specification.faults = load_faults("production");
  EXPECT_THAT(why_not_exhaustive(specification), HasSubstr("at random"));
  specification.faults = load_faults(one_crash);
  EXPECT_TRUE(can_be_exhaustive(specification));
}

TEST(ExhaustiveRuns, StopsWhenItIsTold) {
  Exploration exploration;
  int left = 1;
  const Program program{.name = "order", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 0;
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          for (int i = 1; i < rank.world_size(); ++i)
                            rank.root()->recv(view_of(value));
                        }};
  run_exhaustively(
      program, {.program = "order", .world_size = 5}, [&left] { return left-- > 0; }, exploration);
  EXPECT_EQ(exploration.claim, Claim::sampled);
  EXPECT_EQ(exploration.every->classes, 2u);
}

TEST(ExhaustiveRuns, AreNotMadeWhereTheyWouldShowNothing) {
  EXPECT_TRUE(can_be_exhaustive({}));
  EXPECT_TRUE(can_be_exhaustive({.backend = BackendKind::sim_gloo}));
  EXPECT_FALSE(can_be_exhaustive({.faults = load_faults("light")}));
  EXPECT_FALSE(can_be_exhaustive({.schedule = ScheduleChoice::recheck}));
  EXPECT_THAT(why_not_exhaustive({.options = {.context = sim::ContextKind::parallel}}),
              HasSubstr("--context parallel"));
  EXPECT_TRUE(can_be_watched({}));
  EXPECT_TRUE(can_be_watched({.backend = BackendKind::sim_nccl}));
  EXPECT_FALSE(
      can_be_watched({.backend = BackendKind::sim_nccl, .faults = load_faults("one_crash")}));
  EXPECT_FALSE(can_be_watched({.backend = BackendKind::gloo}));
}

TEST(ExhaustiveRuns, ALargeWorldIsRunOnce) {
  const Exploration ring = explored(ring_program(), {.program = "ring", .world_size = 2048});
  EXPECT_EQ(ring.claim, Claim::proved);
  EXPECT_EQ(ring.coverage.runs, 1u);
  const Exploration racing =
      explored(hangs_if_rank_2_is_first(), {.program = "second_first", .world_size = 2048});
  EXPECT_EQ(racing.coverage.runs, 1u);
  EXPECT_NE(racing.claim, Claim::proved);
}

TEST(ExhaustiveRuns, AProgramThatNeverEndsIsFound) {
  const Program program{.name = "endless", .description = "", .run = [](Rank& rank) {
                          for (;;) rank.root()->barrier();
                        }};
  RunSpecification specification{.program = "endless", .world_size = 2};
  EXPECT_EQ(bounded(specification).options.step_limit, 5'000'000u);
  specification.options.step_limit = 1000;
  EXPECT_EQ(bounded(specification).options.step_limit, 1000u);
  const Exploration exploration = explored(program, specification);
  EXPECT_EQ(exploration.claim, Claim::found);
  EXPECT_EQ(exploration.failure->report.outcome, sim::Outcome::step_limit);
}

Exploration explored_yields(int count) {
  const Program program{.name = "yields", .description = "", .run = [count](Rank& rank) {
                          for (int i = 0; i < count; ++i) rank.runtime().yield();
                          rank.root()->barrier();
                        }};
  return explored(program, {.program = "yields", .world_size = 2});
}

TEST(ExhaustiveRuns, AFewYieldsAreCovered) { EXPECT_EQ(explored_yields(2).claim, Claim::proved); }

TEST(ExhaustiveRuns, ManyYieldsInARowAreNotCovered) {
  const Exploration exploration = explored_yields(20);
  EXPECT_EQ(exploration.claim, Claim::sampled);
  EXPECT_EQ(exploration.every->end, sim::EverySchedule::End::unguided);
  EXPECT_EQ(exploration.every->unguided, sim::Unguided::many_polls);
}

// The race is there although its first run fails: rank 1 comes first by itself.
TEST(ExhaustiveRuns, SaysWhatDecidesWhereTheFirstRunFails) {
  const Program program{.name = "first_fails", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 7;  // equal messages
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          const int first = rank.root()->recv(view_of(value)).source_rank;
                          rank.root()->recv(view_of(value), first);
                        }};
  const Program fails_first{.name = "first_fails", .description = "", .run = [](Rank& rank) {
                              std::int32_t value = 7;
                              if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                              const int first = rank.root()->recv(view_of(value)).source_rank;
                              rank.root()->recv(view_of(value), first == 1 ? 1 : any_rank);
                            }};
  const Exploration always_fails = explored(program, {.program = "first_fails", .world_size = 3});
  EXPECT_EQ(always_fails.claim, Claim::found);
  EXPECT_FALSE(always_fails.every->decisive) << "no order holds";
  EXPECT_FALSE(always_fails.failure->report.certainty->is_avoided);
  const Exploration found = explored(fails_first, {.program = "first_fails", .world_size = 3});
  EXPECT_EQ(found.claim, Claim::found);
  EXPECT_EQ(found.coverage.runs, 1u);
  EXPECT_EQ(found.failure->report.outcome, sim::Outcome::deadlock);
  ASSERT_TRUE(found.every->decisive);
  EXPECT_EQ(found.every->holds_otherwise, true);
  EXPECT_TRUE(found.failure->report.certainty->is_avoided);
  EXPECT_THAT(to_text(*found.every->decisive), HasSubstr("took the message of rank 1"));
  EXPECT_THAT(*found.detours, testing::IsEmpty());
}

// The checkpoint thread has to run between two steps of the trainer, and the trainer between two of
// the checkpoint thread.
TEST(ExhaustiveRuns, FindsALostWakeUpThatNeedsTwoPreemptions) {
  const Program program{.name = "two", .description = "", .run = [](Rank& rank) {
                          Runtime& runtime = rank.runtime();
                          const auto mutex = runtime.make_mutex();
                          const auto changed = runtime.make_condition();
                          int waiters = 0;
                          bool is_done = false;
                          const auto saver = runtime.start_thread("saver", [&] {
                            std::unique_lock lock(*mutex);
                            if (is_done) return;
                            ++waiters;
                            lock.unlock();
                            lock.lock();
                            changed->wait(lock);  // the flag is not looked at again
                          });
                          std::unique_lock lock(*mutex);
                          const bool has_waiter = waiters > 0;
                          lock.unlock();
                          lock.lock();
                          is_done = true;
                          if (has_waiter) changed->notify_all();
                          lock.unlock();
                          if (!has_waiter) changed->notify_all();
                          saver->join();
                        }};
  const Exploration found = explored(program, {.program = "two", .world_size = 1});
  EXPECT_EQ(found.claim, Claim::found);
  EXPECT_EQ(found.failure->report.outcome, sim::Outcome::deadlock);
  EXPECT_EQ(found.every->holds_otherwise, true);
  EXPECT_GE(found.detours->size(), 1u);
}

TEST(ExhaustiveRuns, AProgramThatDoesNotRepeatItselfIsNotProved) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Program program{.name = "counts", .description = "", .run = [calls](Rank& rank) {
                          if (++*calls % 2 == 0) rank.root()->barrier();
                          rank.root()->barrier();
                        }};
  const Exploration exploration = explored(program, {.program = "counts", .world_size = 1});
  EXPECT_EQ(exploration.claim, Claim::found);
  ASSERT_TRUE(exploration.failure);
  const sim::Finding& finding = exploration.failure->report.findings.front();
  EXPECT_EQ(finding.id, sim::finding_id::nondeterminism);
  EXPECT_THAT(finding.message, HasSubstr("event "));
}

TEST(ExhaustiveRuns, DoNotDependOnTheNumberOfJobs) {
  for (const int jobs : {1, 2, 4}) {
    Exploration exploration;
    run_exhaustively(hangs_if_rank_2_is_first(), {.program = "second_first", .world_size = 5},
                     always, exploration, jobs);
    EXPECT_EQ(exploration.claim, Claim::found);
    EXPECT_EQ(exploration.failure->report.outcome, sim::Outcome::deadlock);
    EXPECT_EQ(exploration.every->classes, exploration.coverage.runs);
    static const std::uint64_t runs = exploration.coverage.runs;
    EXPECT_EQ(exploration.coverage.runs, runs);
  }
}

TEST(ExhaustiveRuns, AnOutputThatDiffersWithoutAReasonIsNotRepeated) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  const Program program{.name = "counts", .description = "", .run = [runs](Rank& rank) {
                          rank.root()->barrier();
                          if (rank.rank() == 0)
                            rank.output("run", static_cast<std::int32_t>(runs->fetch_add(1)));
                        }};
  const Exploration found = explored(program, {.program = "counts", .world_size = 2});
  ASSERT_TRUE(found.failure);
  ASSERT_FALSE(found.failure->report.findings.empty());
  EXPECT_EQ(found.failure->report.findings[0].id, sim::finding_id::nondeterminism);
  EXPECT_THAT(found.failure->reproduce, testing::StartsWith("gangsim run counts --world 2 "));
}

TEST(ExhaustiveRuns, EachCaseOfFaultsIsRunOnce) {
  const Program program{
      .name = "meets", .description = "", .run = [](Rank& rank) { rank.root()->barrier(); }};
  const Exploration exploration = explored(
      program, {.program = "meets",
                .world_size = 1,
                .faults = load_faults("[[fault]]\nkind = \"crash\"\noperation = 0\nranks = [0]")});
  EXPECT_EQ(exploration.fault_cases, 1U);
  EXPECT_EQ(exploration.coverage.runs, 2U);
  EXPECT_EQ(exploration.coverage.with_faults, 1U);
}

TEST(WhyNotProved, NamesWhatEndedTheRuns) {
  sim::EverySchedule every;
  every.end = sim::EverySchedule::End::too_large;
  EXPECT_EQ(why_not_proved(every), "the runs are too large to compare");
  every.end = sim::EverySchedule::End::stopped;
  every.classes = 1;
  EXPECT_EQ(why_not_proved(every),
            "exhaustive runs saw 1 class of schedules and did not come to an end");
}

TEST(ExhaustiveRuns, ThatAProgramDoesNotRepeatItselfComesFirst) {
  const auto errors = std::make_shared<std::atomic<int>>(0);
  const Program program{.name = "counts", .description = "", .run = [errors](Rank& rank) {
                          try {
                            rank.root()->barrier();
                          } catch (const GangError&) {
                            rank.output("errors", static_cast<std::int32_t>(errors->fetch_add(1)));
                            throw;
                          }
                        }};
  const Exploration found = explored(
      program, {.program = "counts",
                .world_size = 2,
                .faults = load_faults("[[fault]]\nkind = \"crash\"\noperation = 0\nranks = [1]")});
  ASSERT_TRUE(found.failure);
  ASSERT_EQ(found.failure->report.findings.size(), 2U);
  EXPECT_EQ(found.failure->report.findings[0].id, sim::finding_id::nondeterminism);
  EXPECT_EQ(found.failure->report.findings[1].id, sim::finding_id::timed_out);
}

}  // namespace
}  // namespace gang::harness
