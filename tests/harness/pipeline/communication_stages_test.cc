#include "harness/pipeline/communication_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/cost/cost_account.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using Settings = std::map<std::string, std::string>;

RankCounts counts_of(Settings settings, int world_size, const std::string& mode) {
  settings["mode"] = mode;
  const RunResult result =
      run(counted(hybrid_program()),
          {.program = "hybrid", .world_size = world_size, .parameters = std::move(settings)});
  EXPECT_TRUE(result.holds()) << to_string(result);
  return harness::counts_of(result);
}

// Every rank makes the same calls with the same sizes as with arithmetic.
TEST(CommunicationStages, MakeTheSameCallsAsNumericStages) {
  const std::vector<std::pair<int, Settings>> runs = {
      {8, {{"pp", "2"}, {"tp", "2"}}},
      {8, {{"pp", "2"}, {"tp", "2"}, {"schedule", "interleaved_1f1b"}}},
      {8, {{"pp", "4"}, {"schedule", "zero_bubble_h1"}, {"samples", "2"}, {"steps", "2"}}},
      {8, {{"tp", "2"}, {"intra_node", "2"}}},
      {4, {{"pp", "2"}, {"tp", "2"}, {"split", "linear1"}}},
      {8, {{"pp", "2"}, {"tp", "2"}, {"model", "transformer"}}},
      {4, {{"pp", "2"}, {"tp", "2"}, {"model", "transformer"}, {"split", "linear0"}}}};
  for (const auto& [world_size, settings] : runs) {
    const RankCounts with = counts_of(settings, world_size, "numeric");
    EXPECT_EQ(counts_of(settings, world_size, "communication"), with);
    EXPECT_FALSE(with.front().empty());
  }
}

}  // namespace
}  // namespace gang::harness
