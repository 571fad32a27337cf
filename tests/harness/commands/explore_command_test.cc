#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(ExploreCommand, SaysWhatItHasCovered) {
  const std::string saved = temporary("held.toml");
  const Answer answer = ask({"explore", "data_parallel_step", "--world", "8", "--faults",
                             "production", "--schedules", "100", "--save", saved});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("SAMPLED  data_parallel_step, seeds 1 to 100\n"));
  EXPECT_THAT(answer.out, HasSubstr("  100 runs, "));
  EXPECT_THAT(answer.out, HasSubstr("\n  crash "));
  EXPECT_THROW(read_file("file", saved), InvalidArgument) << "nothing to save";
}

TEST(ExploreCommand, ProvesWithOneScheduleWhatCannotComeOtherwise) {
  const Answer answer = ask({"explore", "ring", "--world", "64"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("PROVED  ring, 1 schedule"));
}

TEST(ExploreCommand, SavesTheScheduleOfAFailureThatReplayRepeats) {
  for (const std::string program : {"first_come", "lost_wakeup", "lock_order"}) {
    const std::string saved = temporary("found.json");
    const Answer answer = ask({"explore", program, "--world", "4", "--save", saved});
    EXPECT_EQ(answer.status, 1) << answer.out << answer.err;
    EXPECT_THAT(answer.out, testing::StartsWith("FOUND  " + program + ", schedule "));
    EXPECT_THAT(answer.out, HasSubstr("Decisive: "));
    EXPECT_THAT(answer.out, HasSubstr("Reproduce  gangsim replay " + saved));
    EXPECT_EQ(ask({"replay", saved}).status, 1);
  }
}

// Of drawn runs, too, of which exhaustive ones were made only to explain the failure.
TEST(ExploreCommand, WritesTheDecisiveChoiceOfTheFailure) {
  for (const char* strategy : {"auto", "pct:3"}) {
    const std::string written = temporary("explored_" + std::string(strategy, 3) + ".json");
    const Answer answer = ask({"explore", "lost_wakeup", "--world", "8", "--strategy", strategy,
                               "--json", written, "--save", temporary("found.json")});
    EXPECT_EQ(answer.status, 1) << answer.err;
    const nlohmann::json value = nlohmann::json::parse(read_file("file", written));
    EXPECT_EQ(value["decisive"]["holds_otherwise"], true) << strategy;
    EXPECT_EQ(value["decisive"]["found"]["end"], "deadlock");
    EXPECT_EQ(value["exhaustive"].is_null(), std::string(strategy) != "auto");
  }
}

// With the timeline of the run, and both ways where a choice decides.
TEST(ExploreCommand, ExplainsAFailureAsAPage) {
  for (const char* strategy : {"auto", "random"}) {
    const std::string page = temporary("explored_" + std::string(strategy) + ".html");
    const Answer answer = ask({"explore", "lost_wakeup", "--strategy", strategy, "--report", page,
                               "--save", temporary("found")});
    EXPECT_EQ(answer.status, 1) << answer.err;
    EXPECT_THAT(answer.out, testing::EndsWith("\n  Report     " + page + "\n"));
    const std::string text = read_file("file", page);
    EXPECT_THAT(text, testing::StartsWith("<!doctype html>"));
    const std::string begin = R"(<script type="application/json" id="run">)";
    const std::size_t first = text.find(begin) + begin.size();
    const auto data =
        nlohmann::json::parse(text.substr(first, text.find("</script>", first) - first));
    EXPECT_FALSE(data["timeline"].empty());
    EXPECT_EQ(data["decisive"].is_null(), std::string(strategy) == "random");
  }
}

TEST(ExploreCommand, SavesARandomFailureAsAScenarioThatRunReplays) {
  const std::string saved = temporary("found.toml");
  const Answer answer =
      ask({"explore", "first_come", "--strategy", "random", "--schedules", "200", "--save", saved});
  EXPECT_EQ(answer.status, 1) << answer.out << answer.err;
  EXPECT_THAT(answer.out, testing::StartsWith("FOUND  first_come, seed "));
  EXPECT_THAT(answer.out, HasSubstr("Reproduce  gangsim run " + saved));
  const Answer again = ask({"run", saved});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, testing::Not(HasSubstr("Unexpected")));
}

TEST(ExploreCommand, RefusesWhatItCannotDo) {
  EXPECT_EQ(ask({"explore", "ring", "--schedules", "0"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--jobs", "0"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--context", "parallel"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--budget", "0s"}).status, 2);
  EXPECT_EQ(ask({"explore", "ring", "--strategy", "exhaustive", "--faults", "light"}).status, 2);
  const Answer strategy = ask({"explore", "ring", "--strategy", "lucky"});
  EXPECT_EQ(strategy.status, 2);
  EXPECT_THAT(strategy.err, HasSubstr("'lucky'; must be one of: auto, exhaustive, random"));
  const Answer answer = ask({"explore", "ring", "--faults", "heavy"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("fault plan 'heavy' is unknown"));
}

nlohmann::json json_of(const std::string& path) {
  return nlohmann::json::parse(read_file("file", path));
}

TEST(ExploreCommand, ABudgetOfTimeNeedsNoNumberOfRuns) {
  const std::string path = temporary("budget_record.json");
  const std::vector<std::string> command = {"explore",    "ring",   "--world",  "2",
                                            "--strategy", "random", "--budget", "1500ms",
                                            "--json",     path};
  EXPECT_EQ(ask(command).status, 0);
  const nlohmann::json record = json_of(path);
  EXPECT_GT(record["coverage"]["runs"], 1000);
  EXPECT_EQ(record["schedules"], record["coverage"]["runs"]);
  std::vector<std::string> of_few = command;
  of_few.insert(of_few.end(), {"--schedules", "20"});
  EXPECT_EQ(ask(of_few).status, 0);
  EXPECT_EQ(json_of(path)["coverage"]["runs"], 20);
}

TEST(ExploreCommand, RecordsWhatWasExploredAndWhatItHasShown) {
  const std::string path = temporary("explored_record.json");
  const Answer answer =
      ask({"explore", "first_come", "--world", "4", "--strategy", "random", "--schedules", "200",
           "--seed", "5", "--jobs", "1", "--save", temporary("record.toml"), "--json", path});
  EXPECT_EQ(answer.status, 1) << answer.err;
  const auto found = json_of(path);
  EXPECT_EQ(found["claim"], "found");
  EXPECT_EQ(found["schedules"], 200);
  EXPECT_EQ(found["specification"]["options"]["seed"], "5");
  EXPECT_EQ(found["specification"]["options"]["schedule"], "random");
  const std::uint64_t seed = found["failing_seed"];
  EXPECT_EQ(found["coverage"]["runs"], seed - 5 + 1);
  EXPECT_THAT(answer.out, testing::StartsWith("FOUND  first_come, seed " + std::to_string(seed)));
  EXPECT_TRUE(found["exhaustive"].is_null());
  EXPECT_GT(found["wall_time_ns"], 0);
  EXPECT_EQ(found["failure"]["findings"][0]["id"], "message_race");
}

TEST(ExploreCommand, RecordsAProof) {
  const std::string path = temporary("explored_proof.json");
  EXPECT_EQ(ask({"explore", "ring", "--world", "3", "--json", path}).status, 0);
  const auto proof = json_of(path);
  EXPECT_EQ(proof["claim"], "proved");
  EXPECT_EQ(proof["exhaustive"]["classes"], 1);
  EXPECT_TRUE(proof["failure"].is_null());
  EXPECT_TRUE(proof["failing_seed"].is_null());
}

TEST(ExploreCommand, TheFailingSeedIsThatOfTheRunThatWasFound) {
  const std::string saved = temporary("found_late.toml");
  const std::string path = temporary("found_late.json");
  const Answer answer =
      ask({"explore", "first_come", "--world", "4", "--strategy", "random", "--faults", "light",
           "--schedules", "200", "--seed", "9", "--jobs", "1", "--save", saved, "--json", path});
  const std::uint64_t seed = json_of(path)["failing_seed"];
  EXPECT_GT(seed, 9U) << "the first runs hold";
  const std::string text = std::to_string(seed);
  EXPECT_THAT(answer.out, testing::StartsWith("FOUND  first_come, seed " + text + "\n"));
  EXPECT_THAT(read_file("file", saved),
              testing::StartsWith("# Found by explore at seed " + text + ": "));
}

TEST(ExploreCommand, AScenarioElsewhereFindsTheFileOfItsProgram) {
  const std::string folder = temporary("elsewhere");
  std::filesystem::create_directories(folder);
  const std::string saved = folder + "/found.toml";
  const std::string program = std::filesystem::relative(program_file("missing_rank.toml"));
  EXPECT_EQ(
      ask({"explore", program, "--strategy", "random", "--schedules", "2", "--save", saved}).status,
      1);
  const Answer again = ask({"run", saved});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_THAT(again.out, testing::StartsWith("DEADLOCK  participant_missing "));
}

TEST(ExploreCommand, AScenarioOnStandardOutputIsNoFileToRun) {
  testing::internal::CaptureStdout();
  const Answer answer =
      ask({"explore", "first_come", "--strategy", "random", "--schedules", "9", "--save", "-"});
  const std::string scenario = testing::internal::GetCapturedStdout();
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(scenario, HasSubstr("\nprogram = \"first_come\"\n"));
  EXPECT_THAT(answer.err, HasSubstr("Reproduce  gangsim run first_come --world "));
}

TEST(ExploreCommand, ChecksItsFilesBeforeItRuns) {
  for (const char* option : {"--save", "--json", "--report", "--junit", "--sarif"}) {
    const Answer answer = ask({"explore", "first_come", option, "/absent/file"});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "") << option;
    EXPECT_THAT(answer.err, HasSubstr(std::string(option) + " /absent/file"));
  }
}

TEST(ExploreCommand, StepsAreDrawnForSoManyRanksWithoutFaults) {
  const auto status = [](const std::string& strategy, const std::string& world,
                         const std::string& faults) {
    return ask({"explore", "ring", "--strategy", strategy, "--world", world, "--faults", faults,
                "--schedules", "1"})
        .status;
  };
  for (const char* strategy : {"pos", "pct:2"}) {
    EXPECT_EQ(status(strategy, "512", "none"), 0) << strategy;
    EXPECT_EQ(status(strategy, "513", "none"), 2) << strategy;
    EXPECT_EQ(status(strategy, "4", "light"), 2) << strategy;
  }
}

}  // namespace
}  // namespace gang::harness
