#include "harness/commands/shard_format.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace gang::harness
