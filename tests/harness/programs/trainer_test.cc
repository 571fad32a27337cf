#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_trainer(std::map<std::string, std::string> parameters, int world_size = 4) {
  return run(trainer_program(),
             {.program = "trainer", .world_size = world_size, .parameters = std::move(parameters)},
             {.outputs = KeepOutputs::data});
}

// What every rank outputs under `name`; -1 if they differ.
std::int64_t agreed(const RunResult& result, std::string_view name) {
  std::optional<std::int64_t> all;
  for (const auto& outputs : result.outputs.by_rank) {
    for (const Output& output : outputs) {
      if (output.name != name) continue;
      std::int64_t value = 0;
      std::memcpy(&value, output.data.data(), sizeof value);
      if (all.value_or(value) != value) return -1;
      all = value;
    }
  }
  return all.value_or(-1);
}

TEST(Trainer, EqualsOneProcessInEveryLayout) {
  for (const char* tp : {"1", "2", "4"}) {
    for (const char* model : {"mlp", "transformer"}) {
      const RunResult result = run_trainer({{"tp", tp}, {"model", model}}, 8);
      EXPECT_TRUE(result.holds()) << to_string(result);
    }
  }
}

TEST(Trainer, EndsWithTheShortestShard) {
  EXPECT_EQ(agreed(run_trainer({{"steps", "5"}}), "steps"), 5);
}

TEST(Trainer, StopsWhenRank0IsSatisfied) {
  EXPECT_EQ(agreed(run_trainer({{"steps", "9"}, {"stop_below", "0.25"}}), "steps"), 4);
}

TEST(Trainer, SavesTogetherWhenOneRankIsSignaled) {
  EXPECT_EQ(agreed(run_trainer({}), "saved"), 2);
}

TEST(Trainer, ContinuesWithoutACheckpointThatCouldNotBeCommitted) {
  const RunResult result = run_trainer({{"disk", "full"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(agreed(result, "saved"), 0);
  EXPECT_EQ(agreed(result, "steps"), 3);
}

TEST(Trainer, RefusesSizesThatDoNotDivide) {
  EXPECT_THROW(run_trainer({{"tp", "3"}}), InvalidArgument);
}

TEST(Trainer, RepeatsABatchWhoseGradientsOverflow) {
  std::vector<HeardCall> calls;
  const RunResult result =
      run(heard(trainer_program(), calls), {.program = "trainer", .world_size = 4});
  EXPECT_TRUE(result.holds()) << to_string(result);
  const auto of_rank_3 = [&calls](const char* label) {
    return std::ranges::count_if(
        calls, [label](const HeardCall& call) { return call.label == label && call.rank == 3; });
  };
  // Before each of three steps, again after two overflows, and when the data has ended.
  EXPECT_EQ(of_rank_3("batches left"), 3 + 2 + 1);
  EXPECT_EQ(of_rank_3("newest checkpoint"), 1);
  EXPECT_EQ(of_rank_3("written"), 1);
  EXPECT_EQ(of_rank_3("committed"), 1) << "no rank goes on before the checkpoint is complete";
}

}  // namespace
}  // namespace gang::harness
