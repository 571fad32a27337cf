#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_body(Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = 4});
}

std::size_t longest_line_of(const std::string& text) {
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
  EXPECT_THAT(text, testing::HasSubstr("Every rank returned; nothing is blocked, "));
  EXPECT_THAT(text, testing::HasSubstr("4 operations by 4 ranks in 1 gang;"));
  EXPECT_EQ(longest_line_of(text), 80U);
}

TEST(RunResultText, ListsTheErrorsThatTheProgramHandled) {
  const std::string text = to_string(run_body([](Rank& rank) {
    if (rank.rank() == 3) return rank.runtime().sleep_for(std::chrono::hours(1));
    try {
      rank.root()->barrier();
    } catch (const GangError&) {  // NOLINT(bugprone-empty-catch)
    }
  }));
  EXPECT_THAT(text, testing::StartsWith("COMPLETED  "));
  EXPECT_THAT(text, testing::HasSubstr("\n  Handled    barrier #0 on root[0-3] timed out"));
}

TEST(RunResultText, EndsWithTheCommandThatReproducesAFinding) {
  const std::string text =
      to_string(run_body([](Rank&) { throw std::runtime_error("out of paper"); }));
  EXPECT_THAT(text, testing::HasSubstr("rank_failed"));
  EXPECT_THAT(text, testing::HasSubstr("out of paper"));
  EXPECT_THAT(text, testing::EndsWith("\n  Reproduce  gangsim run test --world 4 --seed 1\n"));
  EXPECT_LE(longest_line_of(text), 80U);
}

TEST(RunResultText, EndsWithTheUnmetExpectation) {
  RunResult result = run_body([](Rank& rank) { rank.root()->barrier(); });
  result.unexpected = "the outcome is completed; expected: deadlock";
  EXPECT_THAT(
      to_string(result),
      testing::EndsWith("\n\n  Unexpected  the outcome is completed; expected: deadlock\n"));
}

}  // namespace
}  // namespace gang::harness
