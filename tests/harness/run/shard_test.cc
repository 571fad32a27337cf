#include "harness/run/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Shard, BlocksAreDisjointAndTogetherEverything) {
  for (const std::uint64_t runs : {0U, 1U, 5U, 16U, 100U, 1000U}) {
    for (std::uint64_t count = 1; count <= 16; ++count) {
      std::uint64_t next = 0;
      for (std::uint64_t index = 0; index < count; ++index) {
        const Shard::Block block = Shard{index, count}.block_of(runs);
        EXPECT_EQ(block.first, next);
        EXPECT_LE(block.count, runs / count + 1);
        EXPECT_GE(block.count, runs / count);
        next += block.count;
      }
      EXPECT_EQ(next, runs) << count;
    }
  }
}

TEST(Shard, EveryRunIsInOneShard) {
  for (std::uint64_t count = 1; count <= 16; ++count)
    for (std::uint64_t run = 0; run < 50; ++run) {
      int shards = 0;
      for (std::uint64_t index = 0; index < count; ++index)
        shards += Shard{index, count}.contains(run) ? 1 : 0;
      EXPECT_EQ(shards, 1);
    }
}

TEST(Shard, IsAText) {
  EXPECT_EQ(parse_shard("--shard", "3/8"), (Shard{3, 8}));
  EXPECT_EQ(to_string(Shard{3, 8}), "3/8");
  EXPECT_EQ(shard_from_json(to_json(Shard{3, 8})), (Shard{3, 8}));
  for (const std::string text : {"9/8", "8/8", "-1/8", "1", "1/", "/2", "0/0", "a/b", "1/2/3", ""})
    EXPECT_THAT([&text] { parse_shard("--shard", text); },
                ThrowsMessage<InvalidArgument>(
                    HasSubstr("--shard is '" + text + "'; must be I/N with 0 <= I < N")));
  EXPECT_THROW(shard_from_json({{"index", 8}, {"count", 8}}), InvalidArgument);
}

TEST(Shard, ThereMayBeAMillion) {
  EXPECT_EQ(parse_shard("--shard", "999999/1000000"), (Shard{999'999, most_shards}));
  EXPECT_THROW(parse_shard("--shard", "0/1000001"), InvalidArgument);
}

TEST(ShardOf, NothingIsTheWhole) {
  EXPECT_FALSE(shard_of({}));
  EXPECT_FALSE(shard_of({{"CI_NODE_TOTAL", "1"}})) << "GitLab without `parallel`";
  EXPECT_FALSE(shard_of({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}})) << "a rank of a job";
}

EnvironmentVariables slurm(const std::string& id, const std::string& least, const std::string& most,
                           const std::string& count, const std::string& step = "1") {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", least},
          {"SLURM_ARRAY_TASK_MAX", most},
          {"SLURM_ARRAY_TASK_COUNT", count},
          {"SLURM_ARRAY_TASK_STEP", step}};
}

TEST(ShardOf, ASlurmArray) {
  const auto given = shard_of(slurm("3", "0", "7", "8"));
  ASSERT_TRUE(given);
  EXPECT_EQ(given->shard, (Shard{3, 8}));
  EXPECT_EQ(given->variable, "SLURM_ARRAY_TASK_ID");
  EXPECT_EQ(shard_of(slurm("16", "10", "18", "5", "2"))->shard, (Shard{3, 5}));
}

TEST(ShardOf, AnIndexedJobOfKubernetes) {
  EXPECT_EQ(shard_of({{"JOB_COMPLETION_INDEX", "0"}, {"JOB_COMPLETIONS", "8"}})->shard,
            (Shard{0, 8}));
}

TEST(ShardOf, ParallelJobsOfGitLabCountFrom1) {
  EXPECT_EQ(shard_of({{"CI_NODE_INDEX", "1"}, {"CI_NODE_TOTAL", "4"}})->shard, (Shard{0, 4}));
  EXPECT_EQ(shard_of({{"CI_NODE_INDEX", "4"}, {"CI_NODE_TOTAL", "4"}})->shard, (Shard{3, 4}));
}

struct BadEnvironment {
  EnvironmentVariables variables;
  std::string message;
};

class BadEnvironments : public testing::TestWithParam<BadEnvironment> {};

TEST_P(BadEnvironments, AreErrorsThatNameTheVariable) {
  EXPECT_THAT([] { shard_of(GetParam().variables); },
              ThrowsMessage<InvalidArgument>(HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    ShardOf, BadEnvironments,
    testing::Values(
        BadEnvironment{slurm("5", "1", "7", "3"), "SLURM_ARRAY_TASK_ID is 5 of 3 from 1 to 7"},
        BadEnvironment{slurm("11", "10", "18", "5", "2"), "which are not evenly spaced"},
        BadEnvironment{slurm("0", "1", "8", "8"), "which are not evenly spaced"},
        BadEnvironment{slurm("10", "10", "18", "4", "2"), "which are not evenly spaced"},
        BadEnvironment{slurm("x", "0", "7", "8"), "SLURM_ARRAY_TASK_ID is 'x'"},
        BadEnvironment{{{"SLURM_ARRAY_TASK_ID", "0"}}, "SLURM_ARRAY_TASK_MIN is not"},
        BadEnvironment{{{"JOB_COMPLETION_INDEX", "1"}},
                       "JOB_COMPLETION_INDEX is set, but JOB_COMPLETIONS is not"},
        BadEnvironment{{{"JOB_COMPLETION_INDEX", "8"}, {"JOB_COMPLETIONS", "8"}},
                       "JOB_COMPLETION_INDEX stands for shard 8 of 8"},
        BadEnvironment{{{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "4"}}, "CI_NODE_INDEX is '0'"},
        BadEnvironment{{{"CI_NODE_INDEX", "5"}, {"CI_NODE_TOTAL", "4"}},
                       "CI_NODE_INDEX stands for shard 4 of 4"},
        BadEnvironment{{{"CI_NODE_INDEX", "1"},
                        {"CI_NODE_TOTAL", "4"},
                        {"JOB_COMPLETION_INDEX", "1"},
                        {"JOB_COMPLETIONS", "4"}},
                       "JOB_COMPLETION_INDEX says shard 1/4 and CI_NODE_INDEX says 0/4"}));

TEST(ShardOf, AnEmptyVariableIsNotSet) {
  EXPECT_FALSE(shard_of({{"CI_NODE_INDEX", ""}}));
  EXPECT_FALSE(shard_of({{"JOB_COMPLETION_INDEX", ""}, {"JOB_COMPLETIONS", ""}}));
}

TEST(Shard, ThereAreOnlySoMany) {
  EXPECT_EQ(shard_from_json({{"index", 0}, {"count", most_shards}}), (Shard{0, most_shards}));
  EXPECT_THROW(shard_from_json({{"index", 0}, {"count", most_shards + 1}}), InvalidArgument);
  EXPECT_THROW(parse_shard("--shard", "0/" + std::to_string(most_shards + 1)), InvalidArgument);
}

TEST(ShardOf, AnArrayMayHaveAsManyTasksAsThereCanBeShards) {
  const auto job_of = [](std::uint64_t count) {
    return EnvironmentVariables{{"JOB_COMPLETION_INDEX", "0"},
                                {"JOB_COMPLETIONS", std::to_string(count)}};
  };
  EXPECT_EQ(shard_of(job_of(most_shards))->shard, (Shard{0, most_shards}));
  EXPECT_THROW(shard_of(job_of(most_shards + 1)), InvalidArgument);
}

TEST(ShardOf, ASlurmArrayHasAStepOf1UnlessItSaysOtherwise) {
  EnvironmentVariables variables = slurm("3", "1", "4", "4");
  variables.erase("SLURM_ARRAY_TASK_STEP");
  EXPECT_EQ(shard_of(variables)->shard, (Shard{2, 4}));
}

TEST(ShardOf, OfVariablesThatAgreeTheFirstIsNamed) {
  const auto given = shard_of({{"JOB_COMPLETION_INDEX", "2"},
                               {"JOB_COMPLETIONS", "4"},
                               {"CI_NODE_INDEX", "3"},
                               {"CI_NODE_TOTAL", "4"}});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->shard, (Shard{2, 4}));
  EXPECT_EQ(given->variable, "JOB_COMPLETION_INDEX");
}

}  // namespace
}  // namespace gang::harness
