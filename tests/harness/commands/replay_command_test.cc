#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(ReplayCommand, QuietSaysOnlyFindingsButWritesEveryFile) {
  const std::string schedule = temporary("quiet.json");
  const std::string page = temporary("quiet.html");
  const std::string sarif = temporary("quiet.sarif");
  ask({"run", "ring", "--save-schedule", schedule});
  const Answer held = ask({"replay", schedule, "--quiet", "--report", page, "--sarif", sarif});
  EXPECT_EQ(held.status, 0) << held.err;
  EXPECT_EQ(held.out, "");
  EXPECT_THAT(read_file("file", page), testing::StartsWith("<!doctype html>"));
  ask({"run", program_file("tp_dp_deadlock.toml"), "--save-schedule", schedule});
  const Answer found = ask({"replay", schedule, "--quiet", "--sarif", sarif});
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(found.out, testing::StartsWith("DEADLOCK  cross_gang_cycle "));
  const auto log = nlohmann::json::parse(read_file("file", sarif));
  EXPECT_EQ(log["runs"][0]["results"][0]["ruleId"], "cross_gang_cycle");
}

TEST(ReplayCommand, APageHasATimelineWithoutAFileOfTheRun) {
  const std::string schedule = temporary("with_page.json");
  const std::string page = temporary("with_page.html");
  ask({"run", "ring", "--save-schedule", schedule});
  EXPECT_EQ(ask({"replay", schedule, "--report", page}).status, 0);
  EXPECT_THAT(read_file("file", page), HasSubstr("\"slices\""));
}

TEST(ReplayCommand, ChecksEveryFileBeforeItRuns) {
  const std::string schedule = temporary("checks.json");
  ask({"run", "ring", "--save-schedule", schedule});
  for (const char* option : {"--json", "--report", "--sarif"}) {
    const Answer answer = ask({"replay", schedule, option, "/absent/file"});
    EXPECT_EQ(answer.status, 2) << option;
    EXPECT_EQ(answer.out, "") << option;
  }
}

TEST(ReplayCommand, SaysWhatHasChangedWhereTheDetoursStillFit) {
  const std::string program = temporary("edited.toml");
  const std::string schedule = temporary("edited.json");
  const auto write = [&program](const std::string& before) {
    OutputFile{"f", program}.commit("world = 3\n[[do]]\nwhen = \"rank == 0\"\ncalls = [" + before +
                                    "\"root barrier\"]\n");
  };
  write("");
  EXPECT_EQ(ask({"explore", program, "--save", schedule}).status, 1);
  write("\"sleep 1us\", ");
  const Answer replayed = ask({"replay", schedule});
  EXPECT_EQ(replayed.status, 1) << replayed.err;
  std::string line = replayed.out;
  for (std::size_t at = 0; (at = line.find("\n  ", at)) != std::string::npos;)
    line.replace(at, 3, " ");
  EXPECT_THAT(line, HasSubstr("The program has changed: "));
  EXPECT_THAT(line, HasSubstr(" Its 0 contested choices were made again."));
}

TEST(ReplayCommand, AFileOfAChangedProgramIsNamed) {
  const std::string program = temporary("named.toml");
  const std::string schedule = temporary("named.json");
  OutputFile{"f", program}.commit("world = 3\n[[do]]\ncalls = [\"root barrier\"]\n");
  ask({"run", program, "--schedule", "random", "--save-schedule", schedule});
  OutputFile{"f", program}.commit("world = 3\n[[do]]\ncalls = [\"root all_reduce sum f32[1]\"]\n");
  EXPECT_THAT(ask({"replay", schedule}).err,
              testing::StartsWith("gangsim: replay: " + schedule + ": "));
}

TEST(ReplayCommand, IsReproducedByTheFileAsAShellTakesIt) {
  const std::string schedule = temporary("two words.json");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--save-schedule", schedule});
  EXPECT_THAT(ask({"replay", schedule}).out,
              testing::EndsWith("  Reproduce  gangsim replay '" + schedule + "'\n"));
}

}  // namespace
}  // namespace gang::harness
