#include "harness/run/schedule_shrinking.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/exhaustive_runs.h"
#include "harness/run/exploration.h"
#include "tests/harness/run/first_message_program.h"

namespace gang::harness {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Rank 0 hangs if the message of rank 3 comes before that of rank 1, among messages of others.
Program hangs_if_rank_3_is_before_rank_1() {
  return {.name = "order", .description = "", .run = [](Rank& rank) {
            std::int32_t value = 7;
            if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
            std::vector<int> order;
            for (int i = 1; i < rank.world_size(); ++i)
              order.push_back(rank.root()->recv(view_of(value)).source_rank);
            if (std::ranges::find(order, 3) < std::ranges::find(order, 1))
              rank.root()->recv(view_of(value));
          }};
}

const RunSpecification five_ranks{.program = "order", .world_size = 5};

TEST(SimplifySchedule, LeavesTheDetoursThatAreNeeded) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  // Found by chance, so with more detours than needed.
  const Exploration found =
      explore(program, five_ranks, {.schedules = 100, .strategy = Strategy::pos});
  ASSERT_TRUE(found.failure);
  ASSERT_TRUE(found.detours);
  const SimplerSchedule simpler = simplify_schedule(program, *found.failure, *found.detours);
  EXPECT_EQ(simpler.run.result.report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(simpler.run.detours, SizeIs(1));
  EXPECT_THAT(simpler.run.left, IsEmpty());
  EXPECT_LE(simpler.run.detours.size(), found.detours->size());
}

TEST(RunWithDetours, IsARunByItselfWithoutAny) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  const RunWithDetours by_itself = run_with_detours(program, five_ranks, {});
  EXPECT_TRUE(by_itself.result.holds());
  EXPECT_THAT(by_itself.detours, IsEmpty());
}

TEST(RunWithDetours, RepeatsAScheduleThatItsReplayRepeats) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  const Exploration found =
      explore(program, five_ranks, {.schedules = 100, .strategy = Strategy::pos});
  ASSERT_TRUE(found.detours);
  const RunWithDetours again =
      run_with_detours(program, found.failure->specification, *found.detours);
  EXPECT_EQ(again.result.report.schedule, found.failure->report.schedule);
  EXPECT_EQ(again.detours, *found.detours);
}

TEST(SimplifySchedule, MakesOnlySoManyRuns) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  const Exploration found =
      explore(program, five_ranks, {.schedules = 100, .strategy = Strategy::pos});
  ASSERT_TRUE(found.detours);
  EXPECT_LE(simplify_schedule(program, *found.failure, *found.detours, 1).attempts, 1u);
}

TEST(SimplifySchedule, LeavesOutAllAtOnceWhereNoneIsNeeded) {
  const Program program{.name = "order", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = 7;
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          for (int i = 1; i < rank.world_size(); ++i)
                            rank.root()->recv(view_of(value));
                          rank.wrong_result("always");
                        }};
  const Exploration found =
      explore(program, five_ranks, {.schedules = 1, .strategy = Strategy::pos});
  ASSERT_TRUE(found.detours);
  ASSERT_GT(found.detours->size(), 1U);
  const SimplerSchedule simpler = simplify_schedule(program, *found.failure, *found.detours);
  EXPECT_THAT(simpler.run.detours, IsEmpty());
  EXPECT_EQ(simpler.attempts, 2U);
}

// Further runs have shown this failure; along its detours, nothing of it is seen.
TEST(SimplifySchedule, LeavesAFailureThatARunAlongItsDetoursDoesNotShow) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  RunResult failure = run(program, five_ranks, {.settles = false});
  ASSERT_TRUE(failure.holds());
  failure.report.outcome = sim::Outcome::deadlock;
  const std::vector<sim::Detour> detours = {
      {{.context = "rank 0", .did = "call", .number = 9}, "rank 2"}};
  const SimplerSchedule simpler = simplify_schedule(program, failure, detours);
  EXPECT_EQ(simpler.run.detours, detours);
  EXPECT_EQ(simpler.run.result.report.outcome, sim::Outcome::deadlock);
}

TEST(RunWithDetours, SaysWhichOfThemWereNotMet) {
  const std::vector<sim::Detour> detours = {
      {{.context = "rank 0", .did = "lock", .number = 1}, "rank 2"}};
  EXPECT_EQ(run_with_detours(hangs_if_rank_3_is_before_rank_1(), five_ranks, detours).left,
            detours);
}

// The run along the detours fails, but not as `failure` does.
TEST(SimplifySchedule, OnlyTheSameFailureIsSimpler) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  const Exploration found =
      explore(program, five_ranks, {.schedules = 100, .strategy = Strategy::pos});
  ASSERT_TRUE(found.failure && found.detours);
  RunResult other = *found.failure;
  other.report.outcome = sim::Outcome::failed;
  EXPECT_EQ(simplify_schedule(program, other, *found.detours).attempts, 1U);
  other = *found.failure;
  other.report.findings.at(0).id = "other";
  EXPECT_EQ(simplify_schedule(program, other, *found.detours).attempts, 1U);
}

TEST(SimplifySchedule, AMessageRaceIsSeenInItsOutputs) {
  const Program program = first_message_program();
  const Exploration found = explore(program, {.program = "first", .world_size = 3},
                                    {.schedules = 20, .strategy = Strategy::exhaustive});
  ASSERT_TRUE(found.failure && found.detours);
  ASSERT_EQ(found.failure->report.findings.at(0).id, sim::finding_id::message_race);
  EXPECT_GT(simplify_schedule(program, *found.failure, *found.detours).attempts, 1U);
  RunResult other = *found.failure;
  ++other.outputs.digest;
  EXPECT_EQ(simplify_schedule(program, other, *found.detours).attempts, 1U);
}

TEST(RunWithDetours, TheRestOfTheScheduleIsNotDrawn) {
  const Program program = hangs_if_rank_3_is_before_rank_1();
  RunSpecification drawn = five_ranks;
  drawn.schedule = ScheduleChoice::random;
  EXPECT_EQ(run_with_detours(program, drawn, {}).result.report.trace.digest,
            run_with_detours(program, five_ranks, {}).result.report.trace.digest);
}

}  // namespace
}  // namespace gang::harness
