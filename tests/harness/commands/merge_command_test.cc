#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/root_gang.h"
#include "harness/commands/commands.h"
#include "harness/run/run_file.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class MergeCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = temporary(testing::UnitTest::GetInstance()->current_test_info()->name()) + "_shards";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Runs a command as shard `index` of `count` with its JSON in the folder.
  Answer shard(std::vector<std::string> command, int index, int count,
               const std::string& name = "") const {
    const std::string file = name.empty() ? std::to_string(index) + ".json" : name;
    for (const std::string& word : {std::string("--json"), path(file), std::string("--shard"),
                                    std::to_string(index) + "/" + std::to_string(count)})
      command.push_back(word);
    return ask(command);
  }

  std::string folder_;
};

std::vector<std::string> explore_command(const std::string& program, const std::string& seed) {
  return {"explore", program,  "--schedules", "30",     "--seed",
          seed,      "--jobs", "1",           "--save", temporary("merged.toml")};
}

TEST_F(MergeCommand, JoinsTheShardsOfAFolder) {
  const Answer first = shard(explore_command("ring", "5"), 0, 3);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, StartsWith("Shard 0/3, as --shard says\nSAMPLED  ring, seeds 5 to 14\n"));
  EXPECT_EQ(shard(explore_command("ring", "5"), 2, 3).status, 0);
  EXPECT_EQ(shard(explore_command("ring", "5"), 1, 3).status, 0);
  const Answer whole = ask({"merge", folder_, "--junit", temporary("merged.xml")});
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(
      whole.out,
      StartsWith("Merged 3 shards of explore\nSAMPLED  ring, seeds 5 to 34\n\n  30 runs, "));
  EXPECT_THAT(read_file("JUnit", temporary("merged.xml")),
              HasSubstr("<testsuite name=\"explore\" tests=\"1\" failures=\"0\""));
  EXPECT_EQ(ask({"merge", folder_, "--quiet"}).out, "");
}

TEST_F(MergeCommand, TheVerdictIsThatOfTheFirstSeedThatFails) {
  for (int index = 0; index < 4; ++index) shard(explore_command("first_come", "1"), index, 4);
  const Answer whole = ask({"merge", folder_, "--json", temporary("merged.json")});
  EXPECT_EQ(whole.status, 1);
  const std::string alone = temporary("alone.json");
  std::vector<std::string> command = explore_command("first_come", "1");
  command.insert(command.end(), {"--json", alone, "--strategy", "random"});
  EXPECT_EQ(ask(command).status, 1);
  const json merged = parse_json(read_file("file", temporary("merged.json")));
  const json one = parse_json(read_file("file", alone));
  EXPECT_EQ(merged["failing_seed"], one["failing_seed"]);
  EXPECT_EQ(merged["coverage"], one["coverage"]);
  EXPECT_EQ(merged["failure"]["reproduce"], one["failure"]["reproduce"]);
  EXPECT_THAT(whole.out, HasSubstr("FOUND  first_come, seeds 1 to 30"));
  EXPECT_THAT(whole.out, HasSubstr("Reproduce  gangsim run first_come "));
}

TEST_F(MergeCommand, TheEnvironmentSaysTheShard) {
  std::vector<std::string> command = explore_command("ring", "1");
  command.insert(command.end(), {"--json", path("only.json")});
  const Answer answer = ask(command, {{"JOB_COMPLETION_INDEX", "1"}, {"JOB_COMPLETIONS", "2"}});
  EXPECT_THAT(answer.out,
              StartsWith("Shard 1/2, as JOB_COMPLETION_INDEX says\nSAMPLED  ring, seeds "
                         "16 to 30\n"));
  EXPECT_EQ(ask({"merge", folder_}).err, "gangsim: merge: of 2 shards, 0 is missing\n");
}

TEST_F(MergeCommand, MoreShardsThanRunsAreNoError) {
  std::vector<std::string> command = {"explore", "ring", "--schedules", "2"};
  for (int index = 0; index < 3; ++index) {
    const Answer answer = shard(command, index, 3);
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out.find("there are more shards than schedules") != std::string::npos,
              index == 2);
  }
  EXPECT_THAT(ask({"merge", folder_}).out, HasSubstr("\n  2 runs, "));
}

TEST_F(MergeCommand, AProofIsAWholeRun) {
  EXPECT_EQ(ask({"explore", "ring", "--json", path("proof.json")}).status, 0);
  EXPECT_THAT(ask({"merge", folder_}).out, HasSubstr("PROVED  ring, every schedule\n"));
  EXPECT_EQ(ask({"explore", "lost_wakeup", "--world", "4", "--save", temporary("merged.json"),
                 "--json", path("proof.json")})
                .status,
            1);
  EXPECT_THAT(ask({"merge", folder_}).out, HasSubstr("FOUND  lost_wakeup, "));
}

TEST_F(MergeCommand, MissingAndDoubleShardsAreErrors) {
  for (const int index : {1, 4, 5, 7}) shard(explore_command("ring", "1"), index, 9);
  EXPECT_EQ(ask({"merge", folder_}).err, "gangsim: merge: of 9 shards, 0, 2-3, 6, 8 are missing\n");
  EXPECT_EQ(ask({"merge", folder_}).status, 2);
  shard(explore_command("ring", "1"), 4, 9, "again.json");
  const Answer twice = ask({"merge", folder_});
  EXPECT_EQ(twice.status, 2);
  EXPECT_EQ(twice.err, "gangsim: merge: " + path("4.json") + " and " + path("again.json") +
                           " are both shard 4/9\n");
}

TEST_F(MergeCommand, ShardsOfDifferentRunsAreErrors) {
  shard(explore_command("ring", "1"), 0, 2);
  const auto with = [this](const std::vector<std::string>& command, int index, int count) {
    shard(command, index, count, "other.json");
    const Answer answer = ask({"merge", folder_});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(std::ranges::count(answer.err, '\n'), 1) << answer.err;
    return answer.err;
  };
  EXPECT_THAT(with(explore_command("all_reduce", "1"), 1, 2),
              HasSubstr("are not shards of one run: program is \"ring\" and \"all_reduce\""));
  EXPECT_THAT(with(explore_command("ring", "2"), 1, 2),
              HasSubstr("are not shards of one run: specification is {"));
  EXPECT_THAT(with({"explore", "ring", "--schedules", "31"}, 1, 2),
              HasSubstr("are not shards of one run: schedules is 30 and 31"));
  EXPECT_THAT(with(explore_command("ring", "1"), 1, 3), HasSubstr("is shard 0/2, but "));
}

TEST_F(MergeCommand, FilesThatAreNoShardsAreErrors) {
  EXPECT_THAT(ask({"merge", folder_}).err, HasSubstr("has no shard; explore, compare --random or "
                                                     "compare --faults --json writes one"));
  EXPECT_THAT(ask({"merge", path("absent.json")}).err, HasSubstr("cannot be read"));
  ask({"run", "ring", "--json", path("run.json")});
  EXPECT_THAT(ask({"merge", path("run.json")}).err, HasSubstr("is not a shard"));
  shard(explore_command("ring", "1"), 0, 1);
  EXPECT_EQ(ask({"merge", folder_}).status, 0) << "a saved run beside it is not meant";
  OutputFile{"file", path("cut.json")}.commit("{\"format\": \"gangsim expl");
  const Answer cut = ask({"merge", folder_});
  EXPECT_EQ(cut.status, 2);
  EXPECT_THAT(cut.err, HasSubstr("cut.json: is cut off at byte"));
  json other = parse_json(read_file("file", path("0.json")));
  other["version"] = 99;
  OutputFile{"file", path("cut.json")}.commit(other.dump());
  EXPECT_THAT(ask({"merge", folder_}).err, HasSubstr("field version is 99; must be 1"));
}

TEST_F(MergeCommand, ABadShardIsOneLine) {
  const Answer answer = ask({"explore", "ring", "--shard", "9/8"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("--shard is '9/8'; must be I/N with 0 <= I < N"));
  EXPECT_THAT(ask({"explore", "ring", "--shard", "0/8", "--strategy", "exhaustive"}).err,
              HasSubstr("'exhaustive', which cannot be divided into shards"));
}

TEST_F(MergeCommand, ComparisonsAreMergedToo) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  const std::vector<std::string> command = {"compare", "ring", "--world",   "3", "--faults", "kill",
                                            "--cases", "3",    "--timeout", "1s"};
  for (int index = 0; index < 2; ++index) EXPECT_EQ(shard(command, index, 2).status, 0);
  const Answer whole = ask({"merge", folder_});
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("CONTAINED  ring on gloo, world 3, kill, 3 cases, seed 1"));
  EXPECT_THAT(whole.out, HasSubstr("Fired      3 of 3 faults"));
  EXPECT_THAT(ask({"compare", "ring", "--shard", "0/2"}).err,
              HasSubstr("--shard needs the cases of --random or --faults"));
}

TEST_F(MergeCommand, WritesEveryFormOfWhatFailed) {
  for (int index = 0; index < 2; ++index) shard(explore_command("first_come", "1"), index, 2);
  const std::string junit = path("all.xml");
  const std::string sarif = path("all.sarif");
  const Answer whole =
      ask({"merge", path("0.json"), path("1.json"), "--quiet", "--junit", junit, "--sarif", sarif});
  EXPECT_EQ(whole.status, 1);
  EXPECT_THAT(whole.out, StartsWith("Merged 2 shards of explore\nFOUND  ")) << "though quiet";
  EXPECT_THAT(read_file("file", junit), HasSubstr("failures=\"1\""));
  const json log = parse_json(read_file("file", sarif));
  EXPECT_EQ(log["runs"][0]["tool"]["driver"]["fullName"], "gangsim merge");
  EXPECT_EQ(log["runs"][0]["results"][0]["ruleId"], "message_race");
}

TEST_F(MergeCommand, ChecksEveryFileBeforeItWritesOne) {
  shard(explore_command("ring", "1"), 0, 1);
  for (const char* option : {"--junit", "--sarif"}) {
    const Answer answer =
        ask({"merge", path("0.json"), "--json", path("all.json"), option, "/absent/file"});
    EXPECT_EQ(answer.status, 2) << option;
    EXPECT_EQ(answer.out, "") << option;
    EXPECT_FALSE(std::filesystem::exists(path("all.json"))) << option;
  }
}

TEST_F(MergeCommand, OneShardIsSaidAsOne) {
  shard(explore_command("ring", "1"), 0, 1);
  EXPECT_THAT(ask({"merge", path("0.json")}).out, StartsWith("Merged 1 shard of explore\n"));
}

TEST_F(MergeCommand, ShardsOfAnotherVersionOrProgramAreErrors) {
  for (int index = 0; index < 2; ++index) shard(explore_command("ring", "1"), index, 2);
  const json good = parse_json(read_file("file", path("1.json")));
  const auto error_with = [&](const char* field, const json& value) {
    json changed = good;
    changed[field] = value;
    OutputFile{"file", path("1.json")}.commit(changed.dump());
    const Answer answer = ask({"merge", folder_});
    EXPECT_EQ(answer.status, 2) << field;
    EXPECT_EQ(answer.out, "") << field;
    return answer.err;
  };
  EXPECT_THAT(error_with("gangsim", "0.0.1"), HasSubstr("gangsim is \""));
  EXPECT_THAT(error_with("fingerprint", "0123456789abcdef"), HasSubstr("fingerprint is \""));
  EXPECT_EQ(error_with("version", 0),
            "gangsim: merge: shard " + path("1.json") + ": field version is 0; must be 1\n");
}

TEST_F(MergeCommand, ALongValueThatDiffersIsCutOff) {
  for (int index = 0; index < 2; ++index) shard(explore_command("ring", "1"), index, 2);
  json changed = parse_json(read_file("file", path("1.json")));
  // With its quotation marks 60 and 61 characters.
  changed["gangsim"] = std::string(58, 'x');
  OutputFile{"file", path("1.json")}.commit(changed.dump());
  EXPECT_THAT(ask({"merge", folder_}).err,
              testing::EndsWith(" and \"" + std::string(58, 'x') + "\"\n"));
  changed["gangsim"] = std::string(59, 'x');
  OutputFile{"file", path("1.json")}.commit(changed.dump());
  EXPECT_THAT(ask({"merge", folder_}).err,
              testing::EndsWith(" and \"" + std::string(59, 'x') + "...\n"));
}

TEST_F(MergeCommand, TheLastShardsCanBeMissing) {
  shard(explore_command("ring", "1"), 0, 4);
  EXPECT_EQ(ask({"merge", folder_}).err, "gangsim: merge: of 4 shards, 1-3 are missing\n");
}

TEST_F(MergeCommand, AFolderWithoutShardsIsAnErrorBesideAFileThatIsOne) {
  shard(explore_command("ring", "1"), 0, 1);
  const std::string empty = path("empty");
  std::filesystem::create_directories(empty);
  const Answer answer = ask({"merge", path("0.json"), empty});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("folder " + empty + " has no shard"));
}

}  // namespace
}  // namespace gang::harness
