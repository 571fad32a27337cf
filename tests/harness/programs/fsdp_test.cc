#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_fsdp(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(fsdp_program(),
             {.program = "fsdp", .world_size = world_size, .parameters = std::move(parameters)},
             {.outputs = KeepOutputs::data});
}

std::string refusal_of_fsdp(std::map<std::string, std::string> parameters, int world_size = 8) {
  try {
    run_fsdp(std::move(parameters), world_size);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Fsdp, EqualsOneProcessWhereverShardsAre) {
  for (const char* intra_node : {"0", "2", "4", "8"}) {
    const RunResult result = run_fsdp({{"intra_node", intra_node}, {"hidden", "11"}});
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(Fsdp, EqualsOneProcessForALanguageModel) {
  const RunResult result = run_fsdp({{"model", "transformer"}, {"layers", "2"}, {"units", "5"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Fsdp, KeepsToItsMemoryPlanWithAndWithoutPrefetch) {
  for (const char* units : {"1", "2", "5"}) {
    for (const char* prefetch : {"true", "false"}) {
      const RunResult result = run_fsdp({{"units", units}, {"prefetch", prefetch}}, 3);
      EXPECT_TRUE(result.holds()) << to_string(result);
    }
  }
}

// The number of elements in the shards that a rank outputs.
std::int64_t shard_elements(const std::vector<Output>& outputs) {
  std::int64_t count = 0;
  for (const Output& output : outputs)
    if (output.name == "shard") count += output.count;
  return count;
}

TEST(Fsdp, ARankHasAPartOfTheModel) {
  const std::int64_t whole = shard_elements(run_fsdp({}, 1).outputs.by_rank[0]);
  const std::int64_t part = shard_elements(run_fsdp({}, 8).outputs.by_rank[3]);
  EXPECT_GE(part * 8, whole);
  EXPECT_LE(part * 8, whole + 3 * 7);
}

TEST(Fsdp, ReplicasHaveEqualShards) {
  const RunResult result = run_fsdp({{"intra_node", "4"}});
  EXPECT_EQ(result.outputs.by_rank[1], result.outputs.by_rank[5]);
  EXPECT_NE(result.outputs.by_rank[1], result.outputs.by_rank[2]);
}

TEST(Fsdp, ListsThePossibleSizes) {
  EXPECT_EQ(refusal_of_fsdp({{"intra_node", "3"}}),
            "intra_node is 3 and dp is 8; must be one of: 0, 2, 4, 8");
  EXPECT_EQ(refusal_of_fsdp({{"intra_node", "1"}}),
            "intra_node is 1 and dp is 8; must be one of: 0, 2, 4, 8");
  EXPECT_EQ(refusal_of_fsdp({{"units", "6"}}),
            "units is 6; must be 1 to 5, the layers of the model");
}

TEST(Fsdp, APrefetchIsAnotherOrderOfCalls) {
  const RunResult with = run_fsdp({{"prefetch", "true"}});
  const RunResult without = run_fsdp({{"prefetch", "false"}});
  EXPECT_EQ(with.outputs.digest, without.outputs.digest);
  EXPECT_NE(with.report.trace.digest, without.report.trace.digest);
}

TEST(Fsdp, MayTakeNoStep) {
  const RunResult result = run_fsdp({{"steps", "0"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

}  // namespace
}  // namespace gang::harness
