#include "harness/commands/shard_option.h"

#include <sstream>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

const EnvironmentVariables gitlab = {{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "4"}};

struct Said {
  Shard shard;
  std::string line;
};

Said announced(const EnvironmentVariables& variables, const std::string& given = "") {
  ShardOption shards([&variables] { return variables; });
  if (!given.empty()) shards.option().set(given);
  EXPECT_EQ(shards.is_given(), !given.empty());
  std::ostringstream out;
  const Shard shard = shards.announced(out);
  return {shard, out.str()};
}

TEST(ShardOption, IsTheWholeUnlessSomethingSaysOtherwise) {
  EXPECT_EQ(announced({}).shard, Shard{});
  EXPECT_EQ(announced({}).line, "");
}

TEST(ShardOption, SaysWhereItsShardComesFrom) {
  EXPECT_EQ(announced(gitlab).shard, (Shard{1, 4}));
  EXPECT_EQ(announced(gitlab).line, "Shard 1/4, as CI_NODE_INDEX says\n");
  EXPECT_EQ(announced({}, "3/8").line, "Shard 3/8, as --shard says\n");
}

TEST(ShardOption, WhatIsGivenWins) {
  EXPECT_EQ(announced(gitlab, "3/8").shard, (Shard{3, 8}));
  EXPECT_EQ(announced(gitlab, "0/1").shard, Shard{});
  EXPECT_EQ(announced(gitlab, "0/1").line, "");
}

}  // namespace
}  // namespace gang::harness
