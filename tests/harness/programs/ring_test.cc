#include <cstring>

#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_ring(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(ring_program(),
             {.program = "ring", .world_size = world_size, .parameters = std::move(parameters)});
}

TEST(Ring, HoldsWithOtherParameters) {
  const RunResult result = run_ring({{"count", "0"}, {"iterations", "9"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Ring, NeedsNoBufferedSends) {
  for (const int world_size : {1, 2, 3, 4, 5}) {
    EXPECT_TRUE(run_ring({{"iterations", "3"}}, world_size).holds()) << world_size;
  }
}

std::vector<std::int32_t> held_by(const Output& output) {
  std::vector<std::int32_t> held(output.data.size() / sizeof(std::int32_t));
  std::memcpy(held.data(), output.data.data(), output.data.size());
  return held;
}

TEST(Ring, EachRankHoldsWhatHasTravelledToIt) {
  for (const int world_size : {1, 2, 5}) {
    for (const int iterations : {0, 1, 7}) {
      const RunResult result =
          run(ring_program(),
              {.program = "ring",
               .world_size = world_size,
               .parameters = {{"count", "3"}, {"iterations", std::to_string(iterations)}}},
              {.outputs = KeepOutputs::data});
      for (int rank = 0; rank < world_size; ++rank) {
        const auto& outputs = result.outputs.by_rank[static_cast<std::size_t>(rank)];
        ASSERT_EQ(outputs.size(), 1U);
        EXPECT_EQ(outputs[0].name, "held");
        const std::int32_t from = (rank + 10 * world_size - iterations) % world_size;
        EXPECT_EQ(held_by(outputs[0]), std::vector<std::int32_t>(3, from)) << iterations;
      }
    }
  }
}

TEST(Ring, EachStepIsASendAndAReceiveOfEachRank) {
  EXPECT_EQ(run_ring({{"iterations", "3"}}, 5).report.counts.rank_operations, 5U * 3 * 2);
}

TEST(Ring, OneElementTravelsOneStepUnlessItIsToldOtherwise) {
  const RunResult result =
      run(ring_program(), {.program = "ring", .world_size = 3}, {.outputs = KeepOutputs::data});
  EXPECT_EQ(held_by(result.outputs.by_rank.at(1).at(0)), std::vector<std::int32_t>{0});
  EXPECT_EQ(result.report.counts.rank_operations, 3U * 2);
}

TEST(Ring, SaysWhoseDataARankShouldHold) {
  const Program wrong =
      altered(ring_program(), {.after = [](const Gang& gang, Operation& operation) {
                const std::int32_t other = 7;
                if (gang.rank() == 1 && operation.collective.kind == OperationKind::recv)
                  std::memcpy(operation.output.data(), &other, sizeof other);
              }});
  const RunResult result = run(wrong, {.program = "ring", .world_size = 4});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].message, "Rank 1 holds data of rank 7 instead of rank 0.");
}

}  // namespace
}  // namespace gang::harness
