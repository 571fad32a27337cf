#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/runner.h"

namespace gang::harness {
namespace {

RunResult run_body(Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = 4});
}

TEST(RunResultJson, HasEveryFieldThatIsPromised) {
  const nlohmann::json json = to_json(run_body([](Rank& rank) { rank.root()->barrier(); }));
  for (const char* field :
       {"outcome", "world", "backend", "context", "seed", "findings", "blocked", "virtual_time_ns",
        "wall_time_ns", "rank_operations", "trace_digest", "result_digest", "reproduce"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["outcome"], "completed");
  EXPECT_EQ(json["rank_operations"], 4);
  EXPECT_EQ(json["trace_digest"].get<std::string>().size(), 16U);
}

TEST(RunResultJson, DescribesFindings) {
  const nlohmann::json json = to_json(run_body([](Rank& rank) {
    if (rank.rank() != 1) rank.root()->barrier();
  }));
  EXPECT_EQ(json["outcome"], "deadlock");
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["id"], "participant_missing");
  EXPECT_EQ(json["findings"][0]["ranks"], nlohmann::json::array({1}));
  EXPECT_EQ(json["blocked"].size(), 3U);
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

TEST(RunResultText, SummarisesARunThatHolds) {
  const std::string text = to_string(run_body([](Rank& rank) { rank.root()->barrier(); }));
  EXPECT_THAT(text, testing::StartsWith("COMPLETED  "));
  EXPECT_THAT(text, testing::HasSubstr("test, world 4, seed 1\n"));
  EXPECT_THAT(text, testing::HasSubstr("4 operations by 4 ranks in 1 gang;"));
  EXPECT_EQ(longest_line(text), 80U);
}

TEST(RunResultText, EndsWithTheCommandThatReproducesAFinding) {
  const std::string text =
      to_string(run_body([](Rank&) { throw std::runtime_error("out of paper"); }));
  EXPECT_THAT(text, testing::HasSubstr("rank_failed"));
  EXPECT_THAT(text, testing::HasSubstr("out of paper"));
  EXPECT_THAT(text, testing::EndsWith("\n  Reproduce  gangsim run test --world 4 --seed 1\n"));
  EXPECT_LE(longest_line(text), 80U);
}

}  // namespace
}  // namespace gang::harness
