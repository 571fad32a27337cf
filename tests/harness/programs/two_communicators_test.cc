#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_on(BackendKind backend, const std::string& order, int world_size = 2) {
  return run(two_communicators_program(), {.program = "two_communicators",
                                           .world_size = world_size,
                                           .parameters = {{"order", order}},
                                           .backend = backend});
}

TEST(TwoCommunicators, HangOnDevicesUnlessTheyAreStartedInOneOrder) {
  const RunResult result = run_on(BackendKind::sim_nccl, "different");
  ASSERT_EQ(result.report.findings.size(), 1U) << to_string(result);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::stream_order_inversion);
  EXPECT_TRUE(run_on(BackendKind::sim_nccl, "same").holds());
  EXPECT_TRUE(run_on(BackendKind::sim_nccl, "same", 5).holds());
}

TEST(TwoCommunicators, AreCorrectGangByGang) {
  EXPECT_TRUE(run_on(BackendKind::sim, "different").holds());
}

TEST(TwoCommunicators, NeedTwoRanks) {
  EXPECT_THROW(run_on(BackendKind::sim, "same", 1), InvalidArgument);
}

TEST(TwoCommunicators, PutOutBothSums) {
  const RunResult result =
      run(two_communicators_program(), {.program = "two_communicators", .world_size = 3},
          {.outputs = KeepOutputs::data});
  ASSERT_EQ(result.outputs.by_rank.size(), 3U);
  for (const auto& outputs : result.outputs.by_rank) {
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(outputs[0].name, "gradient");
    EXPECT_EQ(outputs[0].count, 1024);
    EXPECT_EQ(outputs[1].name, "activation");
    EXPECT_EQ(outputs[1].count, 16);
    for (const Output& output : outputs) {
      std::vector<float> sums(static_cast<std::size_t>(output.count));
      std::memcpy(sums.data(), output.data.data(), output.data.size());
      EXPECT_EQ(sums, std::vector<float>(sums.size(), 3.0F)) << output.name;
    }
  }
}

TEST(TwoCommunicators, HangUnlessAskedToStartInOneOrder) {
  EXPECT_FALSE(run(two_communicators_program(),
                   {.program = "two_communicators", .backend = BackendKind::sim_nccl})
                   .holds());
}

TEST(TwoCommunicators, OddRanksStartInTheOtherOrder) {
  std::vector<HeardCall> calls;
  run(heard(two_communicators_program(), calls), {.program = "two_communicators", .world_size = 4});
  std::vector<std::string> orders(4);
  for (const HeardCall& call : calls)
    if (call.kind == OperationKind::all_reduce)
      orders.at(static_cast<std::size_t>(call.rank)) += call.gang;
  EXPECT_EQ(orders, (std::vector<std::string>{"ab", "ba", "ab", "ba"}));
}

TEST(TwoCommunicators, ARefusalSaysTheWorldSize) {
  EXPECT_THAT([] { run_on(BackendKind::sim, "same", 1); },
              testing::ThrowsMessage<InvalidArgument>(
                  "two_communicators: world size is 1; must be at least 2"));
}

}  // namespace
}  // namespace gang::harness
