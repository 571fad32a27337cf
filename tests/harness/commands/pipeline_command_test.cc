#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(PipelineCommand, DrawsAndJudgesASchedule) {
  const Answer answer =
      ask({"pipeline", "--schedule", "1f1b", "--stages", "4", "--microbatches", "8"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("1f1b: 4 ranks, 1 stage per rank, 8 microbatches\n"));
  EXPECT_THAT(answer.out, HasSubstr("  rank   3  .  .  . F0 B0 == F1 B1 =="));
  EXPECT_THAT(answer.out, HasSubstr(R"(
  Bubble       27.3 % of the time, (R-1) / (M + R-1) = 9/33
  Activations  at most 4 stored at a time (rank 0)
  One by one   DEADLOCK where sends wait for their receivers
                 rank 2 sends activation for 3F1 to rank 3
                 rank 3 sends gradient for 2B0 to rank 2
               complete where sends are buffered
  Batched      complete where sends wait for their receivers
)"));
}

TEST(PipelineCommand, EveryScheduleHasDefaultSizes) {
  for (const char* name : {"gpipe", "1f1b", "interleaved_1f1b", "zero_bubble_h1"}) {
    const Answer answer = ask({"pipeline", "--schedule", name});
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_THAT(answer.out, testing::Not(HasSubstr("WRONG")));
  }
}

TEST(PipelineCommand, WritesTheScheduleAsJson) {
  const std::string path = temporary("schedule.json");
  ASSERT_EQ(ask({"pipeline", "--stages", "2", "--microbatches", "2", "--json", path}).status, 0);
  const auto json = nlohmann::json::parse(read_file("file", path));
  EXPECT_EQ(json["format"], "gangsim pipeline");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["schedule"], "1f1b");
  EXPECT_EQ(json["length"], 9);
  EXPECT_EQ(json["by_rank"][1]["passes"][1],
            nlohmann::json::parse(R"({"pass":"1B0","start":2,"end":4})"));
  EXPECT_EQ(json["by_rank"][0]["peak_activations"], 2);
  EXPECT_EQ(json["batched"]["completes"], true);
  EXPECT_EQ(json["complaints"].size(), 0U);
}

std::string schedule_file(const std::string& text) {
  std::string path = temporary("schedule.csv");
  OutputFile("file", path).commit(text);
  return path;
}

TEST(PipelineCommand, StudiesAScheduleOfAFile) {
  const Answer answer =
      ask({"pipeline", "--file", schedule_file("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("schedule.csv: 2 ranks, 1 stage per rank, 2 microbatches\n"));
  EXPECT_THAT(answer.out, HasSubstr("  rank   1  . F0 B0 == F1 B1 ==  .  .\n"));
  EXPECT_THAT(answer.out, HasSubstr("  Bubble       33.3 % of the time\n"));
  EXPECT_THAT(answer.out, HasSubstr("  One by one   DEADLOCK"));
}

TEST(PipelineCommand, SaysWhatIsWrongWithAScheduleOfAFile) {
  const std::string path = schedule_file("0F0,0B0\n1B0,1F0\n");
  const Answer answer = ask({"pipeline", "--file", path});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.out,
              HasSubstr("\n  WRONG: Rank 1 computes 1B0 before 1F0, which it needs.\n"));
  EXPECT_EQ(ask({"pipeline", "--file", path, "--stages", "2"}).status, 2);
  EXPECT_EQ(ask({"pipeline", "--file", "/nowhere/schedule.csv"}).status, 2);
  EXPECT_THAT(ask({"pipeline", "--file", schedule_file("0F0,what\n")}).err,
              HasSubstr("schedule.csv:1: 'what' is not a pass; expected"));
}

TEST(PipelineCommand, SaysWhichSizesWouldDo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--microbatches", "3"}, "must be at least 4"},
      {{"--schedule", "interleaved_1f1b", "--stages", "7"}, "rank; 6 or 8 would work"},
      {{"--stages", "3", "--stages-per-rank", "5"}, "rank; 5 would work"},
      {{"--schedule", "interleaved_1f1b", "--microbatches", "5"},
       "must be a multiple of 2, such as 4 or 6"},
      {{"--schedule", "1f1b", "--stages-per-rank", "2"}, "must be 1 for schedule 1f1b"},
      {{"--schedule", "2f2b"}, "must be one of: gpipe"},
      {{"--stages", "0"}, "--stages"}};
  for (const auto& [options, expected] : refused) {
    std::vector<std::string> arguments{"pipeline"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Answer answer = ask(arguments);
    EXPECT_EQ(answer.status, 2) << options.back();
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, HasSubstr(expected));
  }
}

nlohmann::json json_of_pipeline(std::vector<std::string> options) {
  const std::string path = temporary("pipeline_values.json");
  options.insert(options.begin(), "pipeline");
  options.insert(options.end(), {"--json", path});
  ask(options);
  return nlohmann::json::parse(read_file("file", path));
}

TEST(PipelineCommand, WritesTheFiguresOfAStockSchedule) {
  const auto json =
      json_of_pipeline({"--schedule", "1f1b", "--stages", "4", "--microbatches", "8"});
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["stages"], 4);
  EXPECT_EQ(json["microbatches"], 8);
  EXPECT_EQ(json["length"], 33);
  EXPECT_DOUBLE_EQ(json["bubble"], 9.0 / 33);
  EXPECT_EQ(json["bubble_formula"], "(R-1) / (M + R-1)");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(json["by_rank"][rank]["idle"], 9);
    EXPECT_EQ(json["by_rank"][rank]["peak_activations"], 4 - rank);
    EXPECT_EQ(json["by_rank"][rank]["most_activations"], 4 - rank);
  }
  EXPECT_EQ(json["one_by_one"]["completes"], false);
  EXPECT_EQ(json["one_by_one"]["counterexample"].size(), 2U);
  EXPECT_EQ(json["one_by_one_buffered"], nlohmann::json::parse(R"({"completes": true})"));
  EXPECT_EQ(json["batched"], nlohmann::json::parse(R"({"completes": true})"));
}

TEST(PipelineCommand, ARankMayHaveSeveralStages) {
  const auto json = json_of_pipeline({"--schedule", "interleaved_1f1b"});
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["stages"], 4);
  EXPECT_EQ(json["microbatches"], 4);
}

TEST(PipelineCommand, AnInvalidScheduleHasOnlyComplaints) {
  const auto json = json_of_pipeline({"--file", schedule_file("0F0,0B0\n1B0,1F0\n")});
  EXPECT_EQ(json["complaints"].size(), 1U);
  for (const char* field : {"length", "bubble", "by_rank", "one_by_one", "batched"})
    EXPECT_FALSE(json.contains(field)) << field;
}

TEST(PipelineCommand, AScheduleOfAFileHasFiguresButNoBounds) {
  const auto json = json_of_pipeline({"--file", schedule_file("0F0,0B0\n1F0,1B0\n")});
  EXPECT_EQ(json["length"], 6);
  EXPECT_DOUBLE_EQ(json["bubble"], 0.5);
  EXPECT_FALSE(json.contains("bubble_formula"));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(json["by_rank"][rank]["idle"], 3);
    EXPECT_FALSE(json["by_rank"][rank].contains("most_activations"));
  }
}

TEST(PipelineCommand, SaysWhichRanksStoreMost) {
  EXPECT_THAT(ask({"pipeline", "--schedule", "gpipe", "--stages", "2"}).out,
              HasSubstr("  Activations  at most 4 stored at a time (ranks 0-1)\n"
                        "  One by one   complete where sends wait for their receivers\n"
                        "  Batched      complete where sends wait for their receivers\n"));
}

TEST(PipelineCommand, AFileExcludesEachSizeOfAStockSchedule) {
  const std::string path = schedule_file("0F0,0B0\n1F0,1B0\n");
  EXPECT_EQ(ask({"pipeline", "--file", path}).status, 0);
  const std::pair<std::string, std::string> sizes[] = {{"--schedule", "1f1b"},
                                                       {"--stages", "2"},
                                                       {"--stages-per-rank", "1"},
                                                       {"--microbatches", "1"}};
  for (const auto& [option, value] : sizes)
    EXPECT_EQ(ask({"pipeline", "--file", path, option, value}).status, 2) << option;
}

}  // namespace
}  // namespace gang::harness
