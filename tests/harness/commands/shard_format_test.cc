#include "harness/commands/shard_format.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/comparison/agreement_report.h"
#include "harness/comparison/faulted_processes.h"
#include "harness/run/exploration_record.h"

namespace gang::harness {
namespace {

TEST(ShardFormat, EachFieldThatShardsShareIsWritten) {
  ExplorationRecord record;
  const nlohmann::json json = to_json(record);
  const std::vector<ShardFormat> formats = standard_shard_formats();
  ASSERT_EQ(formats.front().name, "gangsim exploration");
  for (const std::string& field : formats.front().same) EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["format"], formats.front().name);
  EXPECT_EQ(json["version"], formats.front().version);
}

TEST(ShardFormat, WhatIsMergedIsAShardAgain) {
  ExplorationRecord record{.schedules = 4, .shard = {0, 2}};
  ExplorationRecord other = record;
  other.shard = {1, 2};
  record.coverage.runs = other.coverage.runs = 2;
  const MergedShards whole =
      standard_shard_formats().front().merge({to_json(record), to_json(other)}, "gangsim");
  EXPECT_TRUE(whole.holds);
  const auto json = nlohmann::json::parse(whole.json);
  EXPECT_EQ(json["coverage"]["runs"], 4);
  EXPECT_EQ(json["shard"], to_json(Shard{}));
}

const ShardFormat& format_called(const std::vector<ShardFormat>& formats,
                                 std::string_view command) {
  return *std::ranges::find(formats, command, &ShardFormat::command);
}

TEST(ShardFormat, EachKindOfComparisonIsWrittenWithItsFields) {
  const std::vector<ShardFormat> formats = standard_shard_formats();
  ASSERT_EQ(formats.size(), 3U);
  const auto check = [&formats](std::string_view command, const nlohmann::json& json,
                                const std::vector<std::string>& same) {
    const ShardFormat& format = format_called(formats, command);
    EXPECT_EQ(json["format"], format.name);
    EXPECT_EQ(json["version"], format.version);
    EXPECT_EQ(format.same, same);
    for (const std::string& field : format.same) EXPECT_TRUE(json.contains(field)) << field;
  };
  check("compare --random", to_json(AgreementReport{}),
        {"program", "world", "backends", "seed", "cases"});
  check("compare --faults", to_json(FaultedProcessesReport{}),
        {"program", "world", "seed", "timeout_ns", "faults", "planned_cases"});
  check("explore", to_json(ExplorationRecord{}),
        {"program", "fingerprint", "specification", "schedules"});
}

TEST(ShardFormat, ADifferenceOfAShardIsOneOfTheWhole) {
  AgreementReport report{.program = "random",
                         .left_verdict = "completed",
                         .right_verdict = "completed",
                         .cases = 2,
                         .shard = {0, 2}};
  AgreementReport other = report;
  other.shard = {1, 2};
  const std::vector<ShardFormat> formats = standard_shard_formats();
  const ShardFormat& format = format_called(formats, "compare --random");
  EXPECT_TRUE(format.merge({to_json(report), to_json(other)}, "gangsim").holds);
  EXPECT_EQ(format.merge({to_json(report), to_json(other)}, "gangsim").sarif.size(), 0U);
  other.difference = Difference{.rank = 1, .output = "case 1"};
  const MergedShards whole = format.merge({to_json(report), to_json(other)}, "gangsim");
  EXPECT_FALSE(whole.holds);
  ASSERT_EQ(whole.sarif.size(), 1U);
  const JunitCase& failed = whole.junit.front().cases.front();
  EXPECT_EQ(whole.sarif.front().rule, failed.class_name);
  EXPECT_EQ(whole.sarif.front().identity, failed.name);
  EXPECT_EQ(whole.sarif.front().message, failed.failure->message);
  EXPECT_NE(failed.class_name, failed.name);
}

TEST(ShardFormat, AFailureThatWasFoundIsOneOfTheWhole) {
  ExplorationRecord record{.schedules = 1};
  record.claim = Claim::found;
  record.failure.emplace();
  record.failure->report.outcome = sim::Outcome::deadlock;
  record.failure->report.findings.push_back({.id = "participant_missing", .ranks = {1}});
  const MergedShards whole = standard_shard_formats().front().merge({to_json(record)}, "gangsim");
  EXPECT_FALSE(whole.holds);
  ASSERT_EQ(whole.sarif.size(), 1U);
  EXPECT_EQ(whole.sarif.front().rule, "participant_missing");
}

}  // namespace
}  // namespace gang::harness
