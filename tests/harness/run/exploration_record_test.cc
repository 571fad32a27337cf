#include "harness/run/exploration_record.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/careless_program.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::uint64_t schedules = 40;

RunSpecification specification_of(const Program& program) {
  return {.program = program.name, .world_size = 4, .schedule = ScheduleChoice::random};
}

// What `explore` does with a shard.
ExplorationRecord explored(const Program& program, const RunSpecification& specification,
                           const Shard& shard) {
  ExplorationRecord record{.specification = specification,
                           .fingerprint = fingerprint(program),
                           .schedules = schedules,
                           .shard = shard};
  const Shard::Block block = shard.block_of(schedules);
  RunSpecification own = specification;
  own.options.seed += block.first;
  Exploration exploration =
      explore(program, own, {.schedules = block.count, .jobs = 1, .strategy = Strategy::random});
  record.coverage = exploration.coverage;
  record.wall_time = exploration.wall_time;
  record.claim = exploration.claim;
  record.failure = std::move(exploration.failure);
  if (record.failure) record.failing_seed = record.failure->specification.options.seed;
  return record;
}

// Without what differs from run to run.
json timeless(const ExplorationRecord& record) {
  json value = to_json(record);
  value.erase("wall_time_ns");
  if (value["failure"].is_object()) value["failure"].erase("wall_time_ns");
  return value;
}

void expect_merged_equal_one(const Program& program, const RunSpecification& specification,
                             bool holds) {
  const ExplorationRecord one = explored(program, specification, {});
  ASSERT_EQ(one.holds(), holds);
  for (std::uint64_t count = 1; count <= 16; ++count) {
    std::vector<ExplorationRecord> shards;
    for (std::uint64_t index = 0; index < count; ++index)
      // As `merge` gets them.
      shards.push_back(exploration_record_from_json(
          json::parse(to_json(explored(program, specification, {index, count})).dump())));
    EXPECT_EQ(timeless(merged(shards)), timeless(one)) << count << " shards";
  }
}

TEST(ExplorationRecord, MergedShardsAreTheWholeWhereAllHolds) {
  RunSpecification specification = specification_of(data_parallel_step_program());
  specification.faults = load_faults("production");
  expect_merged_equal_one(data_parallel_step_program(), specification, true);
}

TEST(ExplorationRecord, MergedShardsAreTheWholeUpToTheFirstFailure) {
  RunSpecification specification = specification_of(careless_program());
  specification.faults = load_faults("light");
  std::uint64_t last = 0;
  for (const std::uint64_t seed : {1U, 1000U, 2000U}) {
    specification.options.seed = seed;
    expect_merged_equal_one(careless_program(), specification, false);
    last =
        std::max(last, explored(careless_program(), specification, {}).failing_seed.value() - seed);
  }
  EXPECT_GT(last, 5U) << "one of them fails in the middle";
}

TEST(ExplorationRecord, SaysWhatFailed) {
  const auto programs = with_faulty_programs(all_programs());
  const Program& program = find_program(programs, "first_come");
  const ExplorationRecord record = explored(program, specification_of(program), {});
  EXPECT_THAT(to_string(record), HasSubstr("FOUND  first_come, seeds 1 to 40"));
  EXPECT_THAT(to_string(record), HasSubstr("The first that failed is seed " +
                                           std::to_string(record.failing_seed.value())));
  const JunitSuite suite = to_junit(record);
  ASSERT_EQ(suite.cases.size(), 1U);
  ASSERT_TRUE(suite.cases.front().failure);
  EXPECT_EQ(suite.cases.front().failure->message, record.failure->report.findings.front().message);
}

TEST(ExplorationRecord, TellsHowFarExhaustiveRunsHaveCome) {
  const RunSpecification specification{.program = "ring", .world_size = 3};
  const Exploration exploration = explore(ring_program(), specification, {});
  ExplorationRecord record{.specification = specification, .claim = exploration.claim};
  record.exhaustive = exhaustive_search_of(exploration);
  ASSERT_TRUE(record.exhaustive);
  EXPECT_EQ(record.exhaustive->classes, 1U);
  EXPECT_TRUE(record.exhaustive->holds_with_buffered_sends);
  json value = to_json(record);
  EXPECT_EQ(exploration_record_from_json(value).exhaustive, record.exhaustive);
  value.erase("exhaustive");  // as older versions wrote it
  EXPECT_FALSE(exploration_record_from_json(value).exhaustive);
}

TEST(ExplorationRecord, KeepsTheDecisiveChoiceAndBothWays) {
  sim::EverySchedule every{.decisive = sim::Contest{}, .holds_otherwise = true};
  every.continuations = {
      {.deeds = {{"1/loader", "locks a mutex"}}, .further = 2, .end = "deadlock"},
      {.deeds = {{"1", "calls (train.cc:31)"}}, .end = "completed"}};
  ExplorationRecord record{.decisive = decisive_choice_of(every)};
  ASSERT_TRUE(record.decisive);
  EXPECT_EQ(record.decisive->holds_otherwise, true);
  EXPECT_EQ(record.decisive->continuations, every.continuations);
  json value = to_json(record);
  EXPECT_EQ(value["decisive"]["found"]["end"], "deadlock");
  EXPECT_EQ(exploration_record_from_json(value).decisive, record.decisive);
  value.erase("decisive");  // as older versions wrote it
  EXPECT_FALSE(exploration_record_from_json(value).decisive);
  record.failure.emplace();
  EXPECT_EQ(merged({ExplorationRecord{}, record}).decisive, record.decisive);
  every.continuations.reset();
  every.holds_otherwise.reset();
  record = {.decisive = decisive_choice_of(every)};
  EXPECT_EQ(exploration_record_from_json(to_json(record)).decisive, record.decisive);
  every.decisive.reset();
  EXPECT_FALSE(decisive_choice_of(every));
}

TEST(ExplorationRecord, KeepsWhatDrawnRunsHaveSeen) {
  ExplorationRecord record;
  record.sample = Sample{.strategy = Strategy::pct,
                         .depth = 2,
                         .contexts = 3,
                         .steps = 4,
                         .bound = 0.5,
                         .longer_runs = 1,
                         .contests = 6,
                         .runs = 10,
                         .classes = 7,
                         .seen_once = 5};
  json value = to_json(record);
  EXPECT_EQ(value["sample"]["unseen"], 0.5);
  EXPECT_EQ(exploration_record_from_json(value).sample, record.sample);
  EXPECT_FALSE(merged({record, record}).sample) << "the same classes, or others";
  value.erase("sample");  // as older versions wrote it
  EXPECT_FALSE(exploration_record_from_json(value).sample);
}

TEST(ExplorationRecord, AMissingFieldIsNamed) {
  const ExplorationRecord record = explored(ring_program(), specification_of(ring_program()), {});
  json value = to_json(record);
  value["coverage"].erase("runs");
  EXPECT_THAT([&value] { exploration_record_from_json(value); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("field runs is missing")));
}

TEST(CoverageText, CountsFaults) {
  ExplorationCoverage coverage{.runs = 9, .with_faults = 5, .typed_errors = 3, .corrupted = 1};
  coverage.kinds["crash"] = {.planned = 1200, .fired = 4, .places = {"a", "b"}};
  const std::string text = coverage_text(coverage, true);
  EXPECT_THAT(text, HasSubstr("  5 with faults: 2 completed or continued"));
  EXPECT_THAT(text, HasSubstr("crash  1,200    4         2"));
  EXPECT_EQ(coverage_text({}, false), "");
}

TEST(ExplorationRecord, OfMergedShardsEveryCountIsTheSum) {
  ExplorationRecord one{.schedules = 8,
                        .shard = {0, 2},
                        .coverage = {.runs = 4,
                                     .with_faults = 3,
                                     .completed = 2,
                                     .typed_errors = 1,
                                     .corrupted = 5,
                                     .rank_operations = 40},
                        .wall_time = std::chrono::seconds(2)};
  one.exhaustive.emplace();
  one.coverage.kinds["crash"] = {.planned = 7, .fired = 6, .places = {"a"}};
  ExplorationRecord two = one;
  two.shard = {1, 2};
  two.wall_time = std::chrono::seconds(3);
  two.coverage.kinds["crash"].places = {"b"};
  two.coverage.kinds["stall"] = {.planned = 1, .fired = 0, .places = {}};
  const ExplorationRecord whole = merged({one, two});
  EXPECT_EQ(whole.shard, Shard());
  EXPECT_FALSE(whole.exhaustive) << "shards are drawn";
  EXPECT_EQ(whole.wall_time, std::chrono::seconds(5));
  const ExplorationCoverage& coverage = whole.coverage;
  EXPECT_EQ(coverage.runs, 8U);
  EXPECT_EQ(coverage.with_faults, 6U);
  EXPECT_EQ(coverage.completed, 4U);
  EXPECT_EQ(coverage.typed_errors, 2U);
  EXPECT_EQ(coverage.corrupted, 10U);
  EXPECT_EQ(coverage.rank_operations, 80U);
  EXPECT_EQ(coverage.kinds.at("crash").planned, 14U);
  EXPECT_EQ(coverage.kinds.at("crash").fired, 12U);
  EXPECT_THAT(coverage.kinds.at("crash").places, testing::ElementsAre("a", "b"));
  EXPECT_EQ(coverage.kinds.at("stall").planned, 1U);
}

TEST(ExplorationRecord, KeepsEveryCount) {
  ExplorationRecord record{
      .specification = specification_of(ring_program()),
      .schedules = 8,
      .coverage = {.runs = 7, .with_faults = 6, .completed = 5, .typed_errors = 1}};
  record.coverage.kinds["crash"] = {.planned = 4, .fired = 3, .places = {"a"}};
  const ExplorationRecord again = exploration_record_from_json(to_json(record));
  EXPECT_EQ(again.schedules, 8U);
  EXPECT_EQ(again.coverage.runs, 7U);
  EXPECT_EQ(again.coverage.with_faults, 6U);
  EXPECT_EQ(again.coverage.completed, 5U);
  EXPECT_EQ(again.coverage.typed_errors, 1U);
  EXPECT_EQ(again.coverage.kinds.at("crash").planned, 4U);
  EXPECT_EQ(again.coverage.kinds.at("crash").fired, 3U);
}

// As one exploration of all runs would have ended there.
TEST(ExplorationRecord, OfMergedShardsTheFirstFailureCounts) {
  std::vector<ExplorationRecord> shards(4);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].coverage.runs = i + 1;
    if (i == 0 || i == 3) continue;
    shards[i].failure.emplace();
    shards[i].failing_seed = 10 * i;
  }
  const ExplorationRecord whole = merged(shards);
  ASSERT_TRUE(whole.failure);
  EXPECT_EQ(whole.failing_seed, 10U);
  EXPECT_EQ(whole.coverage.runs, 3U);
}

TEST(ExplorationRecord, KeepsItsTimeAndWhatWasNotContained) {
  ExplorationRecord record{.specification = specification_of(ring_program()),
                           .wall_time = std::chrono::milliseconds(1500)};
  record.failure = run(ring_program(), record.specification);
  record.failure->uncontained = "rank 0 got a false mismatch";
  record.failure->report.findings = {{.id = "timed_out", .message = "It took too long."}};
  const ExplorationRecord again = exploration_record_from_json(to_json(record));
  EXPECT_EQ(again.wall_time, record.wall_time);
  ASSERT_TRUE(again.failure);
  EXPECT_EQ(again.failure->uncontained, "rank 0 got a false mismatch");
  // More than the error itself, this is what is wrong.
  EXPECT_EQ(to_junit(again).cases.at(0).failure.value().message, "rank 0 got a false mismatch");
}

TEST(ExplorationRecord, KeepsTheCountsOfOperationsAndOfCorruptRuns) {
  const ExplorationRecord record{.specification = specification_of(ring_program()),
                                 .coverage = {.corrupted = 2, .rank_operations = 40}};
  const ExplorationRecord again = exploration_record_from_json(to_json(record));
  EXPECT_EQ(again.coverage.corrupted, 2U);
  EXPECT_EQ(again.coverage.rank_operations, 40U);
}

// The shards after a failure were run as well.
TEST(ExplorationRecord, TheTimeOfMergedShardsIsThatOfAll) {
  std::vector<ExplorationRecord> shards(3);
  for (ExplorationRecord& shard : shards) shard.wall_time = std::chrono::seconds(2);
  shards[0].failure.emplace();
  shards[1].failure.emplace();
  const ExplorationRecord whole = merged(shards);
  EXPECT_EQ(whole.wall_time, std::chrono::seconds(6));
  EXPECT_EQ(to_junit(whole).cases.at(0).time, std::chrono::seconds(6));
}

TEST(ExplorationRecord, OneRunIsNotRuns) {
  ExplorationRecord record{.specification = specification_of(ring_program()), .schedules = 1};
  record.coverage.runs = 1;
  EXPECT_THAT(to_string(record), HasSubstr("  1 run, 0 operations by ranks"));
}

TEST(ExhaustiveSearchOf, TakesEachCountFromItsPlace) {
  Exploration exploration{.results = 4, .fault_cases = 3};
  EXPECT_FALSE(exhaustive_search_of(exploration));
  exploration.every.emplace().classes = 7;
  exploration.every->contests = 5;
  EXPECT_EQ(exhaustive_search_of(exploration),
            (ExhaustiveSearch{.classes = 7, .contested_choices = 5, .fault_cases = 3}));
}

}  // namespace
}  // namespace gang::harness
