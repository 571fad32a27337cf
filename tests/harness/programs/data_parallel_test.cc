#include <cstring>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_data_parallel(std::map<std::string, std::string> parameters, int world_size = 4) {
  return run(
      data_parallel_program(),
      {.program = "data_parallel", .world_size = world_size, .parameters = std::move(parameters)},
      {.outputs = KeepOutputs::data});
}

TEST(DataParallel, EqualsOneProcess) {
  for (const int world_size : {1, 3, 6}) {
    const RunResult result = run_data_parallel({{"hidden", "9"}, {"samples", "5"}}, world_size);
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(DataParallel, EqualsOneProcessForALanguageModel) {
  const RunResult result = run_data_parallel({{"model", "transformer"}, {"hidden", "12"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(DataParallel, TrainsOnRank0) {
  const RunResult result = run_data_parallel({});
  EXPECT_GT(result.outputs.by_rank[0].size(), 6U);
  EXPECT_EQ(result.outputs.by_rank[1].size(), 3U);
}

TEST(DataParallel, RefusesABatchBeyondItsLimit) {
  EXPECT_THROW(run_data_parallel({{"samples", "256"}}, 128), InvalidArgument);
}

TEST(DataParallel, OnlyRank0KnowsTheLoss) {
  const RunResult result = run_data_parallel({{"steps", "2"}});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const auto& outputs = result.outputs.by_rank[rank];
    for (std::size_t step = 0; step < 2; ++step) {
      double loss = -1;
      EXPECT_EQ(outputs.at(step).name, "loss");
      ASSERT_EQ(outputs[step].data.size(), sizeof(loss));
      std::memcpy(&loss, outputs[step].data.data(), sizeof(loss));
      EXPECT_EQ(loss > 0, rank == 0);
    }
  }
}

TEST(DataParallel, ReducesEachGradientUnderTheNameOfItsParameter) {
  std::vector<HeardCall> calls;
  run(heard(data_parallel_program(), calls),
      {.program = "data_parallel",
       .world_size = 2,
       .parameters = {{"model", "mlp"}, {"layers", "1"}, {"steps", "1"}}});
  std::vector<std::string> labels;
  for (const HeardCall& call : calls)
    if (call.rank == 1 && call.kind == OperationKind::reduce) labels.push_back(call.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"linear0.weight", "linear0.bias"}));
}

}  // namespace
}  // namespace gang::harness
