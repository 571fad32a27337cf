#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

// The line with the digests.
std::string digests(const std::string& text) {
  const std::size_t begin = text.find("  result ");
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(ReplayCommand, GivesTheSameDigests) {
  const std::string schedule = temporary("s.json");
  const Answer recorded = ask({"run", "every_collective", "--schedule", "random", "--seed", "3",
                               "--save-schedule", schedule});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const Answer replayed = ask({"replay", schedule});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(digests(replayed.out), digests(recorded.out));
}

TEST(ReplayCommand, ReplaysAFinding) {
  const std::string schedule = temporary("deadlock.json");
  EXPECT_EQ(ask({"run", program_file("tp_dp_deadlock.toml"), "--save-schedule", schedule}).status,
            1);
  const Answer replayed = ask({"replay", schedule});
  EXPECT_EQ(replayed.status, 1);
  EXPECT_THAT(replayed.out,
              testing::AllOf(HasSubstr("Reproduce  gangsim replay "), HasSubstr(schedule)));
}

TEST(ReplayCommand, SavesAndExplainsTheRun) {
  const std::string schedule = temporary("saved.json");
  const std::string json = temporary("replayed.json");
  const std::string page = temporary("replayed.html");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--save-schedule", schedule});
  const Answer replayed = ask({"replay", schedule, "--json", json, "--report", page});
  EXPECT_THAT(replayed.out, testing::EndsWith("\n  Report     " + page + "\n"));
  EXPECT_THAT(read_file("file", page), HasSubstr("cross_gang_cycle"));
  const Answer explained = ask({"explain", json});
  EXPECT_EQ(explained.out + "  Report     " + page + "\n", replayed.out);
}

TEST(ReplayCommand, NamesTheFirstDivergenceOfAChangedProgram) {
  const std::string program = temporary("changing.toml");
  const std::string schedule = temporary("changing.json");
  OutputFile{"f", program}.commit("world = 3\n[[do]]\ncalls = [\"root barrier\"]\n");
  ask({"run", program, "--schedule", "random", "--save-schedule", schedule});
  OutputFile{"f", program}.commit("world = 3\n[[do]]\ncalls = [\"root all_reduce sum f32[1]\"]\n");
  const Answer replayed = ask({"replay", schedule});
  EXPECT_EQ(replayed.status, 2);
  EXPECT_THAT(replayed.err, HasSubstr("all_reduce #0"));
  EXPECT_THAT(replayed.err, HasSubstr("was recorded"));
  EXPECT_THAT(replayed.err, HasSubstr("another program or version"));
}

TEST(ReplayCommand, RejectsAFileThatIsNotASchedule) {
  EXPECT_THAT(ask({"replay", program_file("tp_dp_deadlock.toml")}).err, HasSubstr("not JSON"));
  EXPECT_EQ(ask({"replay", "/absent.json"}).status, 2);
}

}  // namespace
}  // namespace gang::harness
