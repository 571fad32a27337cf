#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "harness/run/run_file.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(RunCommand, SummarisesAProgramThatHolds) {
  const Answer answer = ask({"run", "mesh", "--world", "16", "--set", "tp=2", "--set", "pp=2"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, testing::StartsWith("COMPLETED "));
  EXPECT_EQ(answer.err, "");
}

TEST(RunCommand, ReportsADeadlockOfAProgramFile) {
  const Answer answer = ask({"run", program_file("tp_dp_deadlock.toml")});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, testing::StartsWith("DEADLOCK  cross_gang_cycle "));
  EXPECT_THAT(answer.out, HasSubstr("tp_dp_deadlock.toml, world 4, seed 1\n"));
  for (const char* place : {"tp_dp_deadlock.toml:6\n", "tp_dp_deadlock.toml:10\n"}) {
    EXPECT_THAT(answer.out, HasSubstr(place));
  }
  EXPECT_THAT(answer.out, testing::EndsWith("tp_dp_deadlock.toml --seed 1\n"));
}

TEST(RunCommand, QuietPrintsOnlyFindings) {
  EXPECT_EQ(ask({"run", "ring", "--quiet"}).out, "");
  EXPECT_NE(ask({"run", program_file("tp_dp_deadlock.toml"), "--quiet"}).out, "");
}

TEST(RunCommand, WritesJsonTraceAndSchedule) {
  const std::string json = temporary("run.json");
  const std::string trace = temporary("run.trace.json");
  const Answer answer = ask({"run", "ring", "--world", "3", "--json", json, "--trace", trace});
  ASSERT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(nlohmann::json::parse(read_file("file", json))["world"], 3);
  EXPECT_TRUE(nlohmann::json::parse(read_file("file", trace)).contains("traceEvents"));
}

TEST(RunCommand, WritesTheExplanationAsAPageAndSaysWhere) {
  const std::string page = temporary("run.html");
  const Answer answer = ask({"run", program_file("tp_dp_deadlock.toml"), "--report", page});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, testing::EndsWith("--seed 1\n  Report     " + page + "\n"));
  EXPECT_THAT(read_file("file", page), testing::StartsWith("<!doctype html>"));
  EXPECT_EQ(ask({"run", "ring", "--quiet", "--report", page}).out, "");
}

TEST(RunCommand, SavesTheTimelineWithTheRun) {
  const std::string json = temporary("run.json");
  ask({"run", "ring", "--json", json});
  EXPECT_TRUE(nlohmann::json::parse(read_file("file", json)).contains("timeline"));
}

// The times in a saved run are those of a run without a timeline.
TEST(RunCommand, OnlyALongRunThatFailsHasATimeline) {
  const std::string json = temporary("run.json");
  const auto is_saved = [&json] {
    return nlohmann::json::parse(read_file("file", json)).contains("timeline");
  };
  ask({"run", "all_reduce", "--world", "4", "--set", "iterations=30000", "--json", json});
  EXPECT_FALSE(is_saved());
  ask({"run", program_file("missing_rank.toml"), "--world", "64", "--json", json});
  EXPECT_TRUE(is_saved());
}

TEST(RunCommand, IsPlainUnlessTheOutputIsATerminal) {
  const Answer answer = ask({"run", program_file("tp_dp_deadlock.toml")});
  EXPECT_EQ(answer.out.find('\033'), std::string::npos);
}

TEST(RunCommand, PrintsWhatCameOutEvenWhereAFileCannotBeWritten) {
  const Answer answer = ask({"run", "ring", "--json", "/dev/full"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.out, testing::StartsWith("COMPLETED "));
  EXPECT_THAT(answer.err, HasSubstr("No space left"));
}

TEST(RunCommand, ChecksTheFilesBeforeItRuns) {
  const Answer answer = ask({"run", "ring", "--json", "/absent/out.json"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.out, "");
}

TEST(RunCommand, SaysWhereAScenarioCameOutOtherwise) {
  const std::string path = temporary("scenario.toml");
  OutputFile{"file", path}.commit(
      "program = \"ring\"\nworld = 3\n[set]\ncount = 2\n[expect]\noutcome = \"deadlock\"\n");
  const Answer answer = ask({"run", path});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out, HasSubstr("Unexpected  the outcome is completed; expected: deadlock"));
}

TEST(RunCommand, DumpsAreAProgram) {
  const std::string folder = temporary("dumps_to_run");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--record", folder});
  for (const char* backend : {"sim", "sim-nccl"}) {
    const Answer answer = ask({"run", folder, "--backend", backend});
    EXPECT_EQ(answer.status, 1) << answer.err;
    EXPECT_THAT(answer.out, testing::StartsWith("DEADLOCK  cross_gang_cycle ")) << backend;
    EXPECT_THAT(answer.out, HasSubstr("tp_dp_deadlock.toml:6"));
    EXPECT_THAT(answer.out, HasSubstr("gangsim run " + folder));
  }
  EXPECT_THAT(ask({"run", folder, "--backend", "sim-gloo"}).out, testing::StartsWith("DEADLOCK"));
  const Answer cost = ask({"run", folder, "--cost"});
  EXPECT_THAT(cost.out, HasSubstr("all_reduce"));
  const std::string saved = temporary("explored_dumps.json");
  EXPECT_EQ(ask({"explore", folder, "--schedules", "5", "--save", saved}).status, 1);
  EXPECT_THAT(ask({"replay", saved}).out, testing::StartsWith("DEADLOCK  cross_gang_cycle "));
}

TEST(RunCommand, AListOfDumpsIsAProgram) {
  const std::string folder = temporary("list_to_run");
  ask({"run", program_file("missing_rank.toml"), "--record", folder});
  std::vector<std::string> words = {"run"};
  for (int rank = 0; rank < 8; ++rank)
    words.push_back(folder + "/nccl_trace_rank_" + std::to_string(rank));
  const Answer answer = ask(words);
  EXPECT_EQ(answer.status, 1) << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("DEADLOCK  participant_missing "));
  EXPECT_THAT(answer.out, HasSubstr("Rank 5 never called all_reduce #3"));
  words.push_back("ring");
  EXPECT_THAT(ask(words).err, HasSubstr("unexpected argument 'ring'"));
  EXPECT_THAT(ask({"run", "ring", "ring"}).err, HasSubstr("unexpected argument 'ring'"));
}

TEST(RunCommand, TheCommandLineOverridesTheFile) {
  const Answer answer =
      ask({"run", program_file("tp_dp_deadlock.toml"), "--world", "8", "--seed", "4"});
  EXPECT_THAT(answer.out, HasSubstr("world 8, seed 4"));
  EXPECT_THAT(answer.out, testing::EndsWith("tp_dp_deadlock.toml --world 8 --seed 4\n"));
}

TEST(RunCommand, AFileOnStandardOutputMovesTheReportToStandardError) {
  testing::internal::CaptureStdout();
  const Answer answer = ask({"run", program_file("tp_dp_deadlock.toml"), "--json", "-"});
  const std::string json = testing::internal::GetCapturedStdout();
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, HasSubstr("DEADLOCK  cross_gang_cycle"));
  EXPECT_EQ(run_result_from_text(json).report.findings.front().id, "cross_gang_cycle");
}

TEST(RunCommand, WritesItsFindingsForCodeReview) {
  const std::string path = temporary("run.sarif");
  EXPECT_EQ(ask({"run", program_file("tp_dp_deadlock.toml"), "--sarif", path}).status, 1);
  const std::string text = read_file("SARIF", path);
  EXPECT_THAT(text, HasSubstr("\"ruleId\": \"cross_gang_cycle\""));
  EXPECT_THAT(text, HasSubstr("\"uri\": \"tests/programs/tp_dp_deadlock.toml\""));
  EXPECT_THAT(text, HasSubstr("\"fullName\": \"gangsim run\""));
}

TEST(RunCommand, ARunWithChoicesSaysHowToExploreThem) {
  EXPECT_THAT(ask({"run", "first_come", "--schedule", "random", "--seed", "3"}).out,
              HasSubstr("decided by: gangsim explore first_come --seed 3\n"));
  EXPECT_THAT(ask({"run", "ring", "--schedule", "random"}).out,
              testing::Not(HasSubstr("gangsim explore")));
}

TEST(RunCommand, AScheduleWithoutATraceFileIsWholeAndATraceWithoutASchedule) {
  const std::string schedule = temporary("whole_schedule.json");
  const std::string trace = temporary("whole_trace.json");
  ask({"run", "ring", "--world", "2", "--save-schedule", schedule});
  EXPECT_GT(nlohmann::json::parse(read_file("file", schedule))["events"].size(), 0U);
  EXPECT_EQ(ask({"replay", schedule}).status, 0);
  ask({"run", "ring", "--world", "2", "--trace", trace});
  EXPECT_GT(nlohmann::json::parse(read_file("file", trace))["traceEvents"].size(), 4U);
}

TEST(RunCommand, ChecksEveryFileBeforeItRuns) {
  for (const char* option : {"--json", "--report", "--sarif", "--trace", "--save-schedule"}) {
    const Answer answer = ask({"run", "ring", option, "/absent/file"});
    EXPECT_EQ(answer.status, 2) << option;
    EXPECT_EQ(answer.out, "") << option;
  }
}

TEST(RunCommand, AnExpectationIsForTheOptionsOfItsFile) {
  const std::string path = temporary("expects.toml");
  OutputFile{"file", path}.commit(
      "program = \"ring\"\nworld = 3\n[expect]\noutcome = \"deadlock\"\n");
  EXPECT_EQ(ask({"run", path}).status, 1);
  const Answer other = ask({"run", path, "--world", "4"});
  EXPECT_EQ(other.status, 0) << "of another world nothing is said";
  EXPECT_THAT(other.out, testing::Not(HasSubstr("Unexpected")));
  EXPECT_THAT(ask({"run", path, "--quiet"}).out, HasSubstr("Unexpected")) << "though quiet";
}

TEST(RunCommand, RecordsOrCountsButNotBoth) {
  const std::string folder = temporary("recorded_and_counted");
  for (const std::vector<std::string>& cost :
       {std::vector<std::string>{"--cost"}, {"--cost-json", temporary("both.json")}}) {
    std::vector<std::string> arguments = {"run", "ring", "--record", folder};
    arguments.insert(arguments.end(), cost.begin(), cost.end());
    const Answer answer = ask(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
  }
}

// -- The log of ranks --

Answer ask_logging(std::vector<std::string> arguments) {
  const Program logs{"logs", "", [](Rank& rank) { rank.log("this is {}", rank.rank()); }};
  CommandLine command_line{.binary = "tool", .description = "", .programs = {logs}};
  command_line.commands.push_back(make_run_command());
  arguments.insert(arguments.begin(), {"run", "logs"});
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(command_line, arguments, out, err);
  return {status, out.str(), err.str()};
}

TEST(RunCommand, TheLogOfRank0IsShownUnlessOthersAreAskedFor) {
  EXPECT_EQ(ask_logging({}).err, "[0] this is 0\n");
  EXPECT_EQ(ask_logging({"--quiet"}).err, "");
  EXPECT_EQ(ask_logging({"--quiet", "--log-ranks", "0,2"}).err, "[0] this is 0\n[2] this is 2\n");
  EXPECT_EQ(ask_logging({"--log-ranks", "none"}).err, "");
}

TEST(RunCommand, RanksToLogAreThoseOfTheWorldThatRuns) {
  const Answer beyond = ask_logging({"--world", "4", "--log-ranks", "0,5"});
  EXPECT_EQ(beyond.status, 2);
  EXPECT_EQ(beyond.out, "");
  EXPECT_EQ(ask_logging({"--world", "12", "--log-ranks", "11"}).err, "[11] this is 11\n");
}

}  // namespace
}  // namespace gang::harness
