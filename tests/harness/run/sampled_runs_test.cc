#include "harness/run/sampled_runs.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/careless_program.h"
#include "tests/harness/run/first_message_program.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

// Two threads that each lock a mutex `sections` times.
Program locks(int sections) {
  return {.name = "locks", .description = "", .run = [sections](Rank& rank) {
            Runtime& runtime = rank.runtime();
            const auto mutex = runtime.make_mutex();
            const auto body = [&] {
              for (int i = 0; i < sections; ++i) const std::scoped_lock lock(*mutex);
            };
            const auto first = runtime.start_thread("first", body);
            const auto second = runtime.start_thread("second", body);
            first->join();
            second->join();
          }};
}

const RunSpecification one_rank{.program = "locks", .world_size = 1};

Sampling chosen(const Program& program, std::uint64_t schedules,
                sim::EverySchedule::End end = sim::EverySchedule::End::stopped) {
  return choose_sampling(program, one_rank, {.schedules = schedules},
                         sim::EverySchedule{.end = end});
}

constexpr std::string_view rank_1_dies_at_1 =
    "[[fault]]\nkind = \"crash\"\nranks = [1]\noperation = 1\nnotice = \"1s\"";

// What is wrong is seen only beside a run without the faults.
TEST(SampledRuns, OfEveryStrategySeeThatFaultsChangeAResult) {
  for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::pos}) {
    const Exploration found =
        explore(careless_program(),
                {.program = "careless", .world_size = 3, .faults = load_faults(rank_1_dies_at_1)},
                {.schedules = 20, .strategy = strategy});
    ASSERT_TRUE(found.failure) << name_of(strategy_names, strategy);
    EXPECT_THAT(found.failure->uncontained, HasSubstr("wrong_result"));
  }
}

TEST(ChooseSampling, TakesPctWhereItPromisesAnything) {
  const Sampling deep = chosen(locks(2), 1000);
  EXPECT_EQ(deep.strategy, Strategy::pct);
  EXPECT_EQ(deep.depth, 3);
  EXPECT_EQ(deep.known.steps(), 4u);
  EXPECT_EQ(chosen(locks(10), 1000).depth, 2);
}

// A second is expected to be enough for a thousand runs; a number that is given counts as it is.
TEST(ChooseSampling, OfABudgetOfTimeTakesWhatSoManyRunsPromise) {
  const auto depth_within = [](std::chrono::milliseconds budget, std::uint64_t schedules) {
    return choose_sampling(locks(10), one_rank, {.schedules = schedules, .budget = budget},
                           sim::EverySchedule{.end = sim::EverySchedule::End::stopped})
        .depth;
  };
  using std::chrono::milliseconds;
  const auto depth_of = [](std::uint64_t schedules) { return chosen(locks(10), schedules).depth; };
  ASSERT_LT(depth_of(10), depth_of(1000));
  ASSERT_LT(depth_of(1000), depth_of(1'000'000));
  for (const int runs : {10, 1000, 1'000'000})
    EXPECT_EQ(depth_within(milliseconds(runs), any_schedules),
              depth_of(static_cast<std::uint64_t>(runs)));
  EXPECT_EQ(depth_within(milliseconds(0), any_schedules), depth_of(1));
  EXPECT_EQ(depth_within(milliseconds(1'000'000), 10), depth_of(10));
}

TEST(ChooseSampling, TakesPosWhereThereAreTooManySteps) {
  EXPECT_EQ(chosen(locks(200), 1000).strategy, Strategy::pos);
}

TEST(ChooseSampling, TakesRandomSchedulesWhereOtherThingsDecide) {
  EXPECT_EQ(chosen(locks(2), 1000, sim::EverySchedule::End::unguided).strategy, Strategy::random);
  EXPECT_EQ(chosen(locks(2), 1000, sim::EverySchedule::End::too_large).strategy, Strategy::random);
}

TEST(RunSampled, SaysWhatPctPromises) {
  const Exploration exploration =
      explore(locks(3), one_rank, {.schedules = 200, .strategy = Strategy::pct, .depth = 2});
  ASSERT_TRUE(exploration.sample);
  const Sample& sample = *exploration.sample;
  EXPECT_EQ(sample.runs, 200u);
  EXPECT_EQ(sample.contexts, 3u);
  EXPECT_EQ(sample.steps, 6u);
  EXPECT_DOUBLE_EQ(sample.bound, 1.0 / 18);
  EXPECT_GT(sample.promise(), 0.99);
  EXPECT_THAT(to_text(sample), HasSubstr("200 pct:2 runs"));
  EXPECT_THAT(to_text(sample), HasSubstr("1 in 18"));
}

TEST(RunSampled, DoesNotDependOnTheNumberOfJobs) {
  for (const Strategy strategy : {Strategy::pct, Strategy::pos}) {
    const auto classes = [&](int jobs) {
      return explore(locks(4), one_rank, {.schedules = 150, .jobs = jobs, .strategy = strategy})
          .sample->classes;
    };
    EXPECT_EQ(classes(1), classes(3));
  }
}

TEST(SetStrategy, ReadsTheDepthOfPct) {
  ExplorationOptions options;
  set_strategy(options, "pct:4");
  EXPECT_EQ(options.strategy, Strategy::pct);
  EXPECT_EQ(options.depth, 4);
  EXPECT_THROW(set_strategy(options, "pct"), InvalidArgument);
  EXPECT_THROW(set_strategy(options, "pct:0"), InvalidArgument);
  EXPECT_THROW(set_strategy(options, "pct:10"), InvalidArgument);
  EXPECT_THROW(set_strategy(options, "lucky"), InvalidArgument);
}

TEST(RunSampled, CountsTheClassesThatItHasSeen) {
  const Exploration exploration =
      explore(locks(1), one_rank, {.schedules = 60, .strategy = Strategy::pos});
  ASSERT_TRUE(exploration.sample);
  EXPECT_EQ(exploration.sample->runs, 60u);
  EXPECT_EQ(exploration.sample->classes, 2u);
  EXPECT_EQ(exploration.sample->seen_once, 0u);
}

TEST(RunSampled, BeginsWithTheSeedOfTheSpecification) {
  const Program always_fails{
      .name = "fails", .description = "", .run = [](Rank& rank) { rank.wrong_result("always"); }};
  const Exploration exploration =
      explore(always_fails, {.program = "fails", .world_size = 2, .options = {.seed = 7}},
              {.schedules = 5, .strategy = Strategy::random});
  ASSERT_TRUE(exploration.failure);
  EXPECT_EQ(exploration.failure->specification.options.seed, 7u);
}

TEST(RunSampled, ThrowsWhatARunThrows) {
  Program refuses = locks(1);
  refuses.validate = [](int, const ParameterValues&) { throw InvalidArgument("not here"); };
  EXPECT_THROW(explore(refuses, one_rank, {.schedules = 5, .strategy = Strategy::random}),
               InvalidArgument);
}

// The second run ends when the first one has failed.
TEST(RunSampled, WhatFailsLaterInTimeIsTheFirstFailureOnlyIfItsSeedIsSmaller) {
  const Program fails{
      .name = "fails", .description = "", .run = [](Rank& rank) {
        std::this_thread::sleep_for(std::chrono::milliseconds(rank.seed() == 1 ? 5 : 30));
        rank.wrong_result("always");
      }};
  const Exploration found = explore(fails, {.program = "fails", .world_size = 1},
                                    {.schedules = 2, .jobs = 2, .strategy = Strategy::random});
  ASSERT_TRUE(found.failure);
  EXPECT_EQ(found.failure->specification.options.seed, 1U);
}

// The first run is refused, which ends all others soon.
TEST(RunSampled, AfterAnErrorNoFurtherRunBegins) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  Program program = locks(1);
  program.validate = [runs](int, const ParameterValues&) {
    if (runs->fetch_add(1) == 0) throw InvalidArgument("not now");
  };
  const ExplorationOptions options{.schedules = 20'000, .jobs = 2, .strategy = Strategy::random};
  EXPECT_THROW(explore(program, one_rank, options), InvalidArgument);
  EXPECT_LT(*runs, 10'000);
}

// One schedule, in which a drawn number of operations is slow.
TEST(RunSampled, FaultsAreAPartOfAClass) {
  const Program meets{.name = "meets", .description = "", .run = [](Rank& rank) {
                        for (int i = 0; i < 4; ++i) rank.root()->barrier();
                      }};
  RunSpecification specification{.program = "meets", .world_size = 1};
  const ExplorationOptions options{.schedules = 20, .strategy = Strategy::random};
  EXPECT_EQ(explore(meets, specification, options).sample->classes, 1U);
  specification.faults =
      load_faults(R"(fault = [{kind = "stall", ranks = [0], operation = [0, 3], for = "1s"}])");
  EXPECT_EQ(explore(meets, specification, options).sample->classes, 4U);
}

TEST(ProgressReporter, DoesNotTellOfEveryRun) {
  std::vector<std::uint64_t> told;
  const ExplorationProgress progress = [&told](const ExplorationCoverage& coverage) {
    told.push_back(coverage.runs);
  };
  ProgressReporter reporter(progress);
  reporter.go_on_after({.runs = 100});
  std::uint64_t runs = 1;
  const auto coverage = [&runs] { return ExplorationCoverage{.runs = runs}; };
  reporter.report(coverage);
  EXPECT_THAT(told, testing::IsEmpty());
  std::this_thread::sleep_for(std::chrono::milliseconds(220));
  for (runs = 2; runs < 5; ++runs) reporter.report(coverage);
  EXPECT_THAT(told, testing::ElementsAre(102));
}

TEST(SampledRuns, CountTheContestedChoicesOfARun) {
  for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::pos}) {
    const Exploration two = explore(locks(2), one_rank, {.schedules = 8, .strategy = strategy});
    EXPECT_EQ(two.sample.value().contests, 4U) << name_of(strategy_names, strategy);
    EXPECT_THAT(to_text(*two.sample), HasSubstr(" (up to 4 contested choices in a run); about"));
    const Exploration none = explore(locks(0), one_rank, {.schedules = 8, .strategy = strategy});
    EXPECT_EQ(none.sample.value().contests, 0U);
  }
}

TEST(ChooseSampling, TakesRandomSchedulesWhereNothingIsKnownOfOthers) {
  EXPECT_EQ(choose_sampling(locks(2), one_rank, {.schedules = 1000}, std::nullopt).strategy,
            Strategy::random);
}

TEST(RunSampled, AClassThatWasSeenTwiceIsNotNew) {
  const Program one_class{.name = "one", .description = "", .run = [](Rank&) {}};
  const auto sample_of = [&](std::uint64_t runs) {
    return explore(one_class, one_rank, {.schedules = runs, .strategy = Strategy::pos})
        .sample.value();
  };
  EXPECT_EQ(sample_of(1).seen_once, 1U);
  EXPECT_EQ(sample_of(2).seen_once, 0U);
  EXPECT_EQ(sample_of(2).classes, 1U);
}

TEST(RunSampled, TheRunThatFailsIsOneOfTheSample) {
  const Program always_fails{
      .name = "fails", .description = "", .run = [](Rank& rank) { rank.wrong_result("always"); }};
  const Exploration exploration =
      explore(always_fails, one_rank, {.schedules = 5, .strategy = Strategy::pos});
  ASSERT_TRUE(exploration.failure && exploration.sample);
  EXPECT_EQ(exploration.sample->runs, 1U);
  EXPECT_EQ(exploration.sample->classes, 1U);
}

// Two threads that lock a mutex the more often the later they are run: known are 8 runs at most.
TEST(RunSampled, RunsThatGoOnForLongerThanThoseThatWereMeasuredAreCounted) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  const auto grows = [runs](int known) {
    return Program{.name = "grows", .description = "", .run = [runs, known](Rank& rank) {
                     locks(runs->fetch_add(1) < known ? 1 : 2).run(rank);
                   }};
  };
  const ExplorationOptions pct{.schedules = 20, .strategy = Strategy::pct, .depth = 1};
  EXPECT_EQ(explore(grows(8), one_rank, pct).sample.value().longer_runs, 20U);
  *runs = 0;
  EXPECT_EQ(explore(grows(100), one_rank, pct).sample.value().longer_runs, 0U);
}

TEST(SampleText, SaysWhatTheRunsHaveSeenAndPromise) {
  Sample sample{.strategy = Strategy::pct,
                .depth = 2,
                .contexts = 3,
                .steps = 6,
                .bound = 1.0 / 16,
                .longer_runs = 1,
                .runs = 1001,
                .classes = 1,
                .seen_once = 0};
  EXPECT_EQ(
      to_text(sample),
      "1 class of schedules in 1,001 pct:2 runs; about 0.0 % of further runs would be new. "
      "Each finds a bug of depth 2 with a chance of at least 1 in 16 (3 contexts, 6 contested "
      "steps); together: 100.0 %, without 1 run that went on for longer");
  sample.longer_runs = 0;
  EXPECT_THAT(to_text(sample), testing::EndsWith("together: 100.0 %"));
  EXPECT_EQ(to_text({.strategy = Strategy::pos, .runs = 8, .classes = 6, .seen_once = 2}),
            "6 classes of schedules in 8 pos runs; about 25.0 % of further runs would be new");
}

// 1 / (1 / 98.0) is a little more than 98.
TEST(SampleText, TheChanceIsThatOfTheBoundHoweverSmall) {
  const auto text_of = [](double bound) {
    return to_text(Sample{.strategy = Strategy::pct, .bound = bound, .runs = 1});
  };
  EXPECT_THAT(text_of(1.0 / 98), HasSubstr("at least 1 in 98 ("));
  EXPECT_THAT(text_of(1.0 / 1234567), HasSubstr("at least 1 in 1,234,567 ("));
  EXPECT_THAT(text_of(1 / 6.4e21), HasSubstr("at least 1 in 6.4e+21 ("));
}

TEST(RunSampled, DeeperRunsOfPctSeeMore) {
  const auto classes = [](int depth) {
    return explore(locks(3), one_rank,
                   {.schedules = 100, .strategy = Strategy::pct, .depth = depth})
        .sample.value()
        .classes;
  };
  EXPECT_GT(classes(3), classes(1));
}

TEST(RunSampled, OutputsThatDependOnTheOrderOfMessagesAreAFailure) {
  const Program program = first_message_program();
  const RunSpecification three_ranks{.program = "first", .world_size = 3};
  for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::pos}) {
    const auto found = [&](int jobs) {
      const Exploration exploration = explore(
          program, three_ranks, {.schedules = 100, .jobs = jobs, .strategy = strategy, .depth = 2});
      EXPECT_TRUE(exploration.failure);
      return exploration.failure.value_or(RunResult{});
    };
    const RunResult alone = found(1);
    ASSERT_EQ(alone.report.findings.size(), 1U);
    EXPECT_EQ(alone.report.findings[0].id, sim::finding_id::message_race);
    if (strategy != Strategy::random) {
      EXPECT_NE(alone.outputs.digest, run(program, three_ranks).outputs.digest);
    }
    const RunResult together = found(2);
    EXPECT_EQ(together.specification.options.seed, alone.specification.options.seed);
    EXPECT_EQ(together.report.findings, alone.report.findings);
  }
}

TEST(RunSampled, AProgramThatDoesNotRepeatItselfIsFound) {
  int runs = 0;
  const Program program{.name = "alternates", .description = "", .run = [&runs](Rank& rank) {
                          rank.root()->barrier();
                          if (rank.rank() == 0 && runs++ % 2 == 1) rank.root()->start_barrier();
                        }};
  for (const Strategy strategy : {Strategy::random, Strategy::pct, Strategy::pos}) {
    const Exploration exploration = explore(program, {.program = "alternates", .world_size = 2},
                                            {.schedules = 1, .strategy = strategy});
    ASSERT_TRUE(exploration.failure);
    EXPECT_EQ(exploration.claim, Claim::found);
    const sim::Finding& finding = exploration.failure->report.findings.at(0);
    EXPECT_EQ(finding.id, sim::finding_id::nondeterminism);
    EXPECT_EQ(exploration.failure->specification.schedule, ScheduleChoice::recheck);
    EXPECT_FALSE(exploration.detours);
  }
}

// Of others, only the first, second, fourth run, and so on.
TEST(RunSampled, ARecheckIsMadeOfEveryRun) {
  for (const ScheduleChoice schedule : {ScheduleChoice::random, ScheduleChoice::recheck}) {
    int runs = 0;
    const Program program{.name = "counts", .description = "", .run = [&runs](Rank&) { ++runs; }};
    explore(program, {.program = "counts", .world_size = 1, .schedule = schedule},
            {.schedules = 9, .strategy = Strategy::random});
    EXPECT_EQ(runs, schedule == ScheduleChoice::recheck ? 18 : 9 + 4);
  }
}

}  // namespace
}  // namespace gang::harness
