#include "harness/run/exhaustive_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/fault_file.h"

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
  const Program program{.name = "first", .description = "", .run = [](Rank& rank) {
                          std::int32_t value = rank.rank();
                          if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
                          rank.root()->recv(view_of(value));
                          rank.output("first", value);
                          rank.root()->recv(view_of(value));
                        }};
  const Exploration found = explored(program, {.program = "first", .world_size = 3});
  EXPECT_EQ(found.claim, Claim::found);
  EXPECT_EQ(found.results, 2u);
  ASSERT_TRUE(found.failure);
  ASSERT_EQ(found.failure->report.findings.size(), 1u);
  EXPECT_EQ(found.failure->report.findings[0].id, sim::finding_id::message_race);
  EXPECT_THAT(found.failure->report.findings[0].ranks, testing::ElementsAre(0, 1, 2));
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

TEST(ExhaustiveRuns, DoesNotClaimWhatFaultsOrOtherBackendsDo) {
  EXPECT_TRUE(can_be_exhaustive({}));
  EXPECT_FALSE(can_be_exhaustive({.faults = load_faults("light")}));
  EXPECT_FALSE(can_be_exhaustive({.backend = BackendKind::sim_gloo}));
  EXPECT_FALSE(can_be_exhaustive({.schedule = ScheduleChoice::recheck}));
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
  const Exploration exploration = explored(program, specification);
  EXPECT_EQ(exploration.claim, Claim::found);
  EXPECT_EQ(exploration.failure->report.outcome, sim::Outcome::step_limit);
}

TEST(ExhaustiveRuns, APollIsNotCovered) {
  const Program program{.name = "polls", .description = "", .run = [](Rank& rank) {
                          rank.runtime().yield();
                          rank.root()->barrier();
                        }};
  const Exploration exploration = explored(program, {.program = "polls", .world_size = 2});
  EXPECT_EQ(exploration.claim, Claim::sampled);
  EXPECT_EQ(exploration.every->end, sim::EverySchedule::End::unguided);
}

}  // namespace
}  // namespace gang::harness
