#include "harness/run/exploration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/careless_program.h"

namespace gang::harness {
namespace {

RunSpecification specification_with(std::string program, std::string_view faults) {
  return {.program = std::move(program),
          .world_size = 4,
          .schedule = ScheduleChoice::random,
          .faults = load_faults(faults)};
}

TEST(Exploration, CoversWhatItHasRun) {
  const Exploration exploration =
      explore(data_parallel_step_program(), specification_with("data_parallel_step", "production"),
              {.schedules = 200, .jobs = 2});
  EXPECT_FALSE(exploration.failure);
  const ExplorationCoverage& coverage = exploration.coverage;
  EXPECT_EQ(coverage.runs, 200u);
  EXPECT_GT(coverage.with_faults, 20u);
  EXPECT_GT(coverage.kinds.at("crash").fired, 10u);
  EXPECT_GT(coverage.kinds.at("crash").places.size(), 3u);
  EXPECT_LE(coverage.kinds.at("crash").fired, coverage.kinds.at("crash").planned);
}

// What aborts meet there is not tried in every order.
TEST(Exploration, OnAnotherBackendProvesWhereNobodyAborts) {
  const auto explored_on_nccl = [](void (*go_on)(Gang&, Work&)) {
    const Program program{.name = "test", .description = "", .run = [go_on](Rank& rank) {
                            std::int32_t sum = 1;
                            Work work =
                                rank.root()->start_all_reduce(view_of(sum), ReduceOperation::sum);
                            go_on(*rank.root(), work);
                          }};
    return explore(program, {.program = "test", .world_size = 2, .backend = BackendKind::sim_nccl},
                   {.strategy = Strategy::exhaustive});
  };
  const Exploration waits = explored_on_nccl([](Gang&, Work& work) { work.wait(); });
  EXPECT_EQ(waits.claim, Claim::proved);
  EXPECT_EQ(waits.coverage.runs, 1U);
  const Exploration looks = explored_on_nccl([](Gang&, Work& work) {
    if (!work.test()) work.wait();
  });
  EXPECT_EQ(looks.claim, Claim::proved);
  EXPECT_GT(looks.coverage.runs, 1U);
  const Exploration aborts = explored_on_nccl([](Gang& gang, Work& work) {
    work.wait();
    gang.abort();
  });
  EXPECT_EQ(aborts.claim, Claim::sampled);
  EXPECT_EQ(aborts.coverage.runs, 1U);
  EXPECT_EQ(aborts.every->unguided, sim::Unguided::backend);
}

TEST(ExplorationCoverage, CountsFaultsOfEachRankAndErrorsThatWereContained) {
  RunResult result;
  result.report.fault_plan = std::make_shared<const sim::FaultPlan>(
      sim::FaultPlan{.faults = {{.kind = sim::FaultKind::crash, .ranks = {1, 2}},
                                {.kind = sim::FaultKind::crash, .ranks = {3}},
                                {.kind = sim::FaultKind::stall, .ranks = {0}}}});
  result.report.faults = {{.fault = 1, .rank = 3, .description = "it crashed", .place = "here"}};
  result.report.outcome = sim::Outcome::failed;
  result.report.findings = {{.id = "rank_failed"}};
  ExplorationCoverage coverage;
  coverage.add(result);
  EXPECT_EQ(coverage.typed_errors, 1U);
  result.uncontained = "rank 0 got a false mismatch";
  coverage.add(result);
  EXPECT_EQ(coverage.typed_errors, 1U);
  EXPECT_EQ(coverage.with_faults, 2U);
  EXPECT_EQ(coverage.completed, 0U);
  EXPECT_EQ(coverage.kinds.at("crash").planned, 2U * 3);
  EXPECT_EQ(coverage.kinds.at("crash").fired, 2U);
  EXPECT_THAT(coverage.kinds.at("crash").places, testing::ElementsAre("here"));
  EXPECT_EQ(coverage.kinds.at("stall").planned, 2U);
  EXPECT_EQ(coverage.kinds.at("stall").fired, 0U);
}

TEST(ExplorationCoverage, AFaultWithoutAPlaceIsKnownByItsDescription) {
  RunResult result;
  result.report.fault_plan = std::make_shared<const sim::FaultPlan>(
      sim::FaultPlan{.faults = {{.kind = sim::FaultKind::slow, .ranks = {1}}}});
  result.report.faults = {{.fault = 0, .rank = 1, .description = "rank 1 is slow"}};
  ExplorationCoverage coverage;
  coverage.add(result);
  EXPECT_THAT(coverage.kinds.at("slow").places, testing::ElementsAre("rank 1 is slow"));
}

TEST(Exploration, TheFirstFailureDoesNotDependOnTheNumberOfJobs) {
  const RunSpecification specification = specification_with("careless", "light");
  std::vector<std::uint64_t> seeds;
  for (const int jobs : {1, 2, 4}) {
    const Exploration exploration =
        explore(careless_program(), specification, {.schedules = 500, .jobs = jobs});
    ASSERT_TRUE(exploration.failure);
    EXPECT_EQ(exploration.failure->uncontained, "the finding wrong_result");
    seeds.push_back(exploration.failure->specification.options.seed);
  }
  EXPECT_THAT(seeds, testing::Each(seeds.front()));
}

TEST(Exploration, WithoutFaultsAnythingThatDoesNotHoldIsAFailure) {
  const Program lonely{.name = "lonely", .description = "", .run = [](Rank& rank) {
                         if (rank.rank() == 0) rank.root()->barrier();
                       }};
  const Exploration exploration =
      explore(lonely, {.program = "lonely", .world_size = 2}, {.schedules = 10});
  ASSERT_TRUE(exploration.failure);
  EXPECT_EQ(exploration.failure->specification.options.seed, 1u);
}

// 4! orders of the messages.
Program takes_messages_in_any_order() {
  return {.name = "order", .description = "", .run = [](Rank& rank) {
            std::int32_t value = 7;
            if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
            for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
            rank.output("last", value);
          }};
}

TEST(Exploration, DrawnRunsTakeOverAfterHalfOfTheBudgetAndAllAreCounted) {
  const RunSpecification five_ranks{.program = "order", .world_size = 5};
  const Exploration exploration =
      explore(takes_messages_in_any_order(), five_ranks, {.schedules = 11});
  EXPECT_EQ(exploration.claim, Claim::sampled);
  ASSERT_TRUE(exploration.every);
  EXPECT_EQ(exploration.every->classes, 6U);
  EXPECT_EQ(exploration.results, 1U);
  EXPECT_EQ(exploration.coverage.runs, 11U);
  EXPECT_EQ(exploration.coverage.completed, 11U);
  EXPECT_EQ(exploration.coverage.rank_operations, 11U * 8);
}

TEST(Exploration, AnExhaustiveOneHasTheWholeBudgetAndDrawsNothing) {
  const Exploration exploration =
      explore(takes_messages_in_any_order(), {.program = "order", .world_size = 5},
              {.schedules = 10, .strategy = Strategy::exhaustive});
  EXPECT_EQ(exploration.claim, Claim::sampled);
  EXPECT_EQ(exploration.coverage.runs, 10U);
  EXPECT_FALSE(exploration.sample);
}

TEST(ExplorationCoverage, WhatEndsWithAFindingHasNotCompleted) {
  RunResult result;
  ExplorationCoverage coverage;
  coverage.add(result);
  EXPECT_EQ(coverage.completed, 1U);
  result.report.findings = {{.id = "unwaited_work"}};
  coverage.add(result);
  EXPECT_EQ(coverage.completed, 1U);
  EXPECT_EQ(coverage.runs, 2U);
}

// 36 ways in which a rank crashes, of which exhaustive runs see the first; a drawn crash comes too
// late to happen most of the time.
TEST(Exploration, FaultsOfExhaustiveRunsAreCountedToo) {
  const Program program{.name = "careful", .description = "", .run = [](Rank& rank) {
                          std::int32_t sum = 1;
                          for (int i = 0; i < 2; ++i)
                            rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                        }};
  const RunSpecification one_crash{
      .program = "careful",
      .world_size = 3,
      .faults = load_faults("[[fault]]\nkind = \"crash\"\noperation = [0, 100]\nmoment = "
                            "\"any\"\nnotice = \"1s\"\n")};
  const ExplorationCoverage half =
      explore(program, one_crash, {.schedules = 10, .strategy = Strategy::exhaustive}).coverage;
  EXPECT_GT(half.with_faults, 5U);
  EXPECT_GT(half.typed_errors, 3U);
  const ExplorationCoverage whole = explore(program, one_crash, {.schedules = 20}).coverage;
  EXPECT_EQ(half.runs, 10U);
  EXPECT_EQ(whole.runs, 20U);
  EXPECT_GE(whole.with_faults, half.with_faults);
  EXPECT_GE(whole.typed_errors, half.typed_errors);
  EXPECT_GE(whole.kinds.at("crash").fired, half.kinds.at("crash").fired);
  EXPECT_GE(whole.kinds.at("crash").places.size(), half.kinds.at("crash").places.size());
}

// Rank 0 may or may not see that rank 1 dies: two results, but none of the program itself.
TEST(Exploration, ResultsAreThoseWithoutFaults) {
  const Program program{.name = "looks", .description = "", .run = [](Rank& rank) {
                          if (rank.rank() == 1) return rank.root()->barrier();
                          const bool is_alone = rank.faults_have_fired();
                          if (!is_alone) rank.root()->barrier();
                          rank.output(is_alone ? "alone" : "together", std::int32_t{1});
                        }};
  RunSpecification specification =
      specification_with("looks", R"(fault = [{kind = "crash", ranks = [1], notice = "1s"}])");
  specification.world_size = 2;
  EXPECT_EQ(explore(program, specification, {.strategy = Strategy::exhaustive}).results, 1U);
}

TEST(ExplorationCoverage, IsTheSumOfBoth) {
  ExplorationCoverage coverage{.runs = 1,
                               .with_faults = 2,
                               .completed = 3,
                               .typed_errors = 4,
                               .corrupted = 5,
                               .rank_operations = 6};
  coverage.kinds["crash"] = {.planned = 7, .fired = 8, .places = {"a"}};
  ExplorationCoverage other = coverage;
  other.kinds["crash"].places = {"b"};
  coverage.add(other);
  EXPECT_EQ(coverage.runs, 2U);
  EXPECT_EQ(coverage.with_faults, 4U);
  EXPECT_EQ(coverage.completed, 6U);
  EXPECT_EQ(coverage.typed_errors, 8U);
  EXPECT_EQ(coverage.corrupted, 10U);
  EXPECT_EQ(coverage.rank_operations, 12U);
  EXPECT_EQ(coverage.kinds.at("crash").planned, 14U);
  EXPECT_EQ(coverage.kinds.at("crash").fired, 16U);
  EXPECT_THAT(coverage.kinds.at("crash").places, testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace gang::harness
