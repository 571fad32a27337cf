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
using testing::Not;
using testing::StartsWith;

// The text of a run of a program file, which is saved at `json`.
std::string save_run(const std::string& program, const std::string& json) {
  return ask({"run", program_file(program), "--json", json}).out;
}

std::string new_folder(const std::string& name) {
  const std::string path = temporary(name);
  std::filesystem::create_directory(path);
  return path;
}

TEST(ExplainCommand, SaysWhatTheRunSaid) {
  for (const char* program : {"tp_dp_deadlock.toml", "mismatch_count.toml", "rank_fails.toml",
                              "ring.toml", "unreceived_message.toml", "timeouts_fire.toml"}) {
    const std::string json = temporary("run.json");
    const std::string text = save_run(program, json);
    const Answer answer = ask({"explain", json});
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.out, text) << program;
  }
}

TEST(ExplainCommand, ARunWithoutFindingExplainsItself) {
  const std::string json = temporary("held.json");
  save_run("ring.toml", json);
  EXPECT_THAT(ask({"explain", json}).out,
              HasSubstr("Every rank returned; nothing is blocked, nothing was left behind.\n"));
}

TEST(ExplainCommand, WritesEveryForm) {
  const std::string json = temporary("run.json");
  const std::string text = save_run("tp_dp_deadlock.toml", json);
  const std::string html = temporary("run.html");
  const std::string dot = temporary("run.dot");
  const std::string again = temporary("again.json");
  const Answer answer = ask({"explain", json, "--html", html, "--dot", dot, "--json", again});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out, "  Wrote      " + html + ", " + dot + ", " + again + "\n");
  EXPECT_THAT(read_file("file", html), StartsWith("<!doctype html>"));
  EXPECT_THAT(read_file("file", dot), StartsWith("digraph"));
  EXPECT_EQ(read_file("file", again), read_file("file", json));
  EXPECT_EQ(ask({"explain", json, "--dot", dot, "--text"}).out,
            text + "  Wrote      " + dot + "\n");
}

TEST(ExplainCommand, TellsEveryRunOfAFolder) {
  const std::string folder = new_folder("several");
  const std::string first = save_run("tp_dp_deadlock.toml", folder + "/a.json");
  const std::string second = save_run("ring.toml", folder + "/b.json");
  OutputFile{"file", folder + "/trace.json"}.commit("{\"traceEvents\": []}");
  const Answer answer = ask({"explain", folder});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, StartsWith("  file    verdict "));
  EXPECT_THAT(answer.out, HasSubstr("a.json  deadlock  cross_gang_cycle  tp_dp_deadlock.toml  4"));
  EXPECT_THAT(answer.out, HasSubstr("b.json  completed "));
  EXPECT_THAT(answer.out, HasSubstr("(1 .json file of other kinds)"));
  EXPECT_THAT(answer.out, HasSubstr(first));
  EXPECT_THAT(answer.out, HasSubstr(second));
  const Answer page = ask({"explain", folder, "--html", temporary("none.html")});
  EXPECT_EQ(page.status, 2);
  EXPECT_THAT(page.err,
              HasSubstr("has 2 saved runs; --html, --dot and --json need the file of one"));
  EXPECT_FALSE(std::filesystem::exists(temporary("none.html")));
}

TEST(ExplainCommand, AFolderOfOneRunIsThatRun) {
  const std::string folder = new_folder("one");
  save_run("ring.toml", folder + "/a.json");
  const std::string html = temporary("one.html");
  EXPECT_EQ(ask({"explain", folder, "--html", html}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(html));
}

TEST(ExplainCommand, AFolderWithoutRunsIsBadInput) {
  const std::string folder = new_folder("none");
  const Answer answer = ask({"explain", folder});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("has no saved run among its 0 .json files"));
}

TEST(ExplainCommand, ARunOfAFolderThatIsCutOffIsNamedAfterTheOthers) {
  const std::string folder = new_folder("broken");
  const std::string text = save_run("ring.toml", folder + "/a.json");
  OutputFile{"file", folder + "/b.json"}.commit("{\"format\": \"gangsim run\", ");
  const Answer answer = ask({"explain", folder});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.out, HasSubstr(text));
  EXPECT_THAT(answer.err, HasSubstr("b.json: is cut off at byte"));
}

TEST(ExplainCommand, BadInputIsOneLineThatNamesFileAndField) {
  const std::string json = temporary("cut.json");
  const auto error_of = [&json](const std::string& text) {
    OutputFile{"file", json}.commit(text);
    const Answer answer = ask({"explain", json});
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1);
    EXPECT_THAT(answer.err, StartsWith("gangsim: explain: run file " + json + ": "));
    return answer.err;
  };
  save_run("tp_dp_deadlock.toml", json);
  const std::string good = read_file("file", json);
  EXPECT_THAT(error_of(good.substr(0, good.size() / 2)), HasSubstr("is cut off at byte"));
  nlohmann::json other = nlohmann::json::parse(good);
  other["findings"][0].erase("ranks");
  EXPECT_THAT(error_of(other.dump()), HasSubstr("findings[0]: field ranks is missing"));
  other = nlohmann::json::parse(good);
  other["timeline"]["lanes"][2]["slices"][0]["gang"] = "dp";
  EXPECT_THAT(error_of(other.dump()), HasSubstr("field timeline: lanes[2]: slices[0]: field gang"));
  EXPECT_THAT(error_of("{\"traceEvents\": []}"), HasSubstr("is not a saved run"));
  EXPECT_THAT(ask({"explain", "/absent.json"}).err, HasSubstr("/absent.json: cannot be read"));
  EXPECT_EQ(ask({"explain"}).status, 2);
}

TEST(ExplainCommand, APlaceThatCannotBeWrittenIsBadInput) {
  const std::string json = temporary("run.json");
  save_run("ring.toml", json);
  const Answer answer = ask({"explain", json, "--html", "/absent/out.html"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("--html /absent/out.html: cannot be written"));
}

// -- Dumps --

TEST(ExplainCommand, ADumpOfEveryRankIsExplainedAsTheRunWas) {
  const std::string folder = new_folder("dumps");
  const Answer run = ask({"run", program_file("tp_dp_deadlock.toml"), "--record", folder});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("cross_gang_cycle"));
  const std::string json = temporary("dumps.json");
  const Answer answer = ask({"explain", folder + "/", "--json", json, "--text"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, StartsWith("DEADLOCK  cross_gang_cycle"));
  EXPECT_THAT(answer.out, HasSubstr("dumps, world 4\n"));
  EXPECT_THAT(answer.out, HasSubstr("  Certainty  as recorded\n"));
  EXPECT_THAT(answer.out, HasSubstr("explain " + folder + "/\n"));
  const nlohmann::json saved = nlohmann::json::parse(read_file("file", json));
  EXPECT_EQ(saved["findings"][0]["id"], "cross_gang_cycle");
  EXPECT_EQ(saved["blocked"].size(), 4U);
  EXPECT_EQ(ask({"explain", json}).out + "  Wrote      " + json + "\n", answer.out);
}

// What a saved run names: ids and ranks.
std::string named_in(const std::string& json) {
  const nlohmann::json saved = nlohmann::json::parse(read_file("file", json));
  std::string named;
  for (const nlohmann::json& finding : saved["findings"])
    named += finding["id"].get<std::string>() + " " + finding["ranks"].dump() + "; ";
  return named;
}

TEST(ExplainCommand, TheDumpsOfAProgramNameWhatItsRunNamed) {
  // What is left says more than calls can: exceptions, timeouts, what became of messages and works,
  // who is in a group that is being made.
  for (const char* program : {"all_collectives.toml",
                              "any_source_wrong_tag.toml",
                              "evaluation_on_rank_0.toml",
                              "extra_barrier.toml",
                              "mismatch_count.toml",
                              "mismatch_data_type.toml",
                              "mismatch_label.toml",
                              "mismatch_operation.toml",
                              "mismatch_reduce_operation.toml",
                              "mismatch_root.toml",
                              "missing_rank.toml",
                              "mixed_up_gangs.toml",
                              "pipeline.toml",
                              "receive_cycle.toml",
                              "ring.toml",
                              "skipped_behind_cycle.toml",
                              "skipped_in_pair.toml",
                              "stream_order_inversion.toml",
                              "swapped_barriers.toml",
                              "three_gang_cycle.toml",
                              "tp_dp_deadlock.toml",
                              "wrong_source.toml",
                              "wrong_tag.toml"}) {
    const std::string folder = new_folder(std::string(program) + ".dumps");
    const std::string run = temporary("named_run.json");
    const std::string recalled = temporary("named_recalled.json");
    ask({"run", program_file(program), "--record", folder, "--json", run});
    const Answer answer = ask({"explain", folder, "--json", recalled});
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(named_in(recalled), named_in(run)) << program;
  }
}

TEST(ExplainCommand, WritesTheDumpsAsAProgram) {
  const std::string folder = new_folder("program_dumps");
  const std::string again = temporary("again.toml");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--record", folder});
  const Answer answer = ask({"explain", folder, "--program", again});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out, "  Wrote      " + again + "\n");
  const Answer run = ask({"run", again});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, StartsWith("DEADLOCK  cross_gang_cycle "));
  EXPECT_THAT(run.out, HasSubstr("Each waits for the next: 0 → 2 → 3 → 1"));
  EXPECT_THAT(ask({"explain", temporary("run.json"), "--program", again}).err,
              HasSubstr("--program needs the dumps of a Flight Recorder"));
}

TEST(ExplainCommand, ExplainsAListOfDumps) {
  const std::string folder = new_folder("list_of_dumps");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--record", folder});
  const Answer answer = ask({"explain", folder + "/nccl_trace_rank_0",
                             folder + "/nccl_trace_rank_1", folder + "/nccl_trace_rank_3"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("rank 2's dump is missing"));
  EXPECT_THAT(answer.out, HasSubstr("3 dumps, world 4\n"));
}

TEST(ExplainCommand, WritesTheVerdictAsJunit) {
  const std::string folder = new_folder("junit_dumps");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--record", folder});
  const std::string junit = temporary("explain.xml");
  const Answer answer = ask({"explain", folder, "--junit", junit});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out, "  Wrote      " + junit + "\n");
  const std::string xml = read_file("file", junit);
  EXPECT_THAT(xml, HasSubstr("failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("cross_gang_cycle"));
}

TEST(ExplainCommand, ADumpThatWouldRunCodeIsRefused) {
  const std::string folder = new_folder("evil");
  using std::string_literals::operator""s;
  OutputFile("file", folder + "/rank_0")
      .commit(
          "\x80\x02"
          "cposix\nsystem\n."s);
  const Answer answer = ask({"explain", folder});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, HasSubstr("/rank_0: opcode GLOBAL ('c') at byte 2 would run code"));
}

TEST(ExplainCommand, TheTableOfAFolderSaysWhichRunsTheyAre) {
  const std::string folder = new_folder("table");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--seed", "3", "--json", folder + "/a.json"});
  ask({"run", "ring", "--world", "3", "--json", folder + "/b.json"});
  const std::string others[] = {"{}", "[1]"};
  OutputFile{"file", folder + "/c.json"}.commit(others[0]);
  EXPECT_THAT(ask({"explain", folder}).out,
              StartsWith("  file    verdict                     program              world  seed\n"
                         "  a.json  deadlock  cross_gang_cycle  tp_dp_deadlock.toml  4      3\n"
                         "  b.json  completed                   ring                 3      1\n"
                         "  (1 .json file of other kinds)\n"));
  OutputFile{"file", folder + "/d.json"}.commit(others[1]);
  EXPECT_THAT(ask({"explain", folder}).out, HasSubstr("(2 .json files of other kinds)\n"));
}

TEST(ExplainCommand, AFolderOfOneRunAndOneThatIsCutOffHasTwo) {
  const std::string folder = new_folder("one_and_a_half");
  save_run("ring.toml", folder + "/a.json");
  OutputFile{"file", folder + "/b.json"}.commit("{\"format\": \"gangsim run\", ");
  const std::string html = temporary("one_and_a_half.html");
  const Answer answer = ask({"explain", folder, "--html", html});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("has 2 saved runs"));
  EXPECT_FALSE(std::filesystem::exists(html));
}

TEST(ExplainCommand, AFolderWhereEveryRunIsCutOffNamesTheFirst) {
  const std::string folder = new_folder("all_cut_off");
  OutputFile{"file", folder + "/b.json"}.commit("{\"format\": \"gangsim run\", ");
  const Answer answer = ask({"explain", folder});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("b.json: is cut off at byte"));
}

TEST(ExplainCommand, ARunThatCompletedWithAFindingFailsItsTestCase) {
  const std::string json = temporary("completed_with_finding.json");
  const std::string junit = temporary("completed_with_finding.xml");
  const auto failures = [&](const std::string& program) {
    save_run(program, json);
    EXPECT_EQ(ask({"explain", json, "--junit", junit}).status, 0);
    return read_file("file", junit);
  };
  EXPECT_THAT(failures("unreceived_message.toml"),
              testing::AllOf(HasSubstr("failures=\"1\""),
                             HasSubstr("<failure message=\"Rank 0 sent a message to rank 1 ")));
  EXPECT_THAT(failures("ring.toml"), HasSubstr("failures=\"0\""));
}

TEST(ExplainCommand, WritesTheFindingsForCodeReview) {
  const std::string json = temporary("for_review.json");
  const std::string sarif = temporary("for_review.sarif");
  save_run("tp_dp_deadlock.toml", json);
  EXPECT_EQ(ask({"explain", json, "--sarif", sarif}).out, "  Wrote      " + sarif + "\n");
  const auto log = nlohmann::json::parse(read_file("file", sarif));
  EXPECT_EQ(log["runs"][0]["results"][0]["ruleId"], "cross_gang_cycle");
  EXPECT_EQ(log["runs"][0]["tool"]["driver"]["fullName"], "gangsim explain");
}

TEST(ExplainCommand, ADeviceIsWrittenButNotNamed) {
  const std::string json = temporary("to_device.json");
  save_run("ring.toml", json);
  const Answer answer = ask({"explain", json, "--html", "/dev/null"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out, "");
}

TEST(ExplainCommand, OnlyDumpsCanBeSeveralOrAProgram) {
  const std::string json = temporary("single.json");
  save_run("ring.toml", json);
  const Answer two = ask({"explain", json, json});
  EXPECT_EQ(two.status, 2);
  EXPECT_EQ(two.out, "");
  EXPECT_THAT(two.err, HasSubstr(json + " is not a dump of a Flight Recorder"));
  const Answer program = ask({"explain", json, "--program", temporary("single.toml")});
  EXPECT_EQ(program.status, 2);
  EXPECT_EQ(program.out, "");
}

TEST(ExplainCommand, ChecksEveryFileBeforeItWritesOne) {
  const std::string json = temporary("checked.json");
  const std::string html = temporary("checked.html");
  save_run("ring.toml", json);
  for (const char* option : {"--dot", "--json", "--junit", "--sarif"}) {
    EXPECT_EQ(ask({"explain", json, "--html", html, option, "/absent/file"}).status, 2) << option;
    EXPECT_FALSE(std::filesystem::exists(html)) << option;
  }
}

TEST(ExplainCommand, DumpsAreReproducedFromAllOfThem) {
  const std::string folder = new_folder("command_of_dumps");
  ask({"run", program_file("tp_dp_deadlock.toml"), "--record", folder});
  std::vector<std::string> words = {"explain"};
  std::string command = "gangsim explain";
  for (int rank = 0; rank < 4; ++rank) {
    words.push_back(folder + "/nccl_trace_rank_" + std::to_string(rank));
    command += " " + words.back();
  }
  EXPECT_THAT(ask(words).out, testing::EndsWith("  " + command + "\n"));
}

}  // namespace
}  // namespace gang::harness
