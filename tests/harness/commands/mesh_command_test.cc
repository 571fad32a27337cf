#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(MeshCommand, DrawsASmallWorld) {
  const Answer answer =
      ask({"mesh", "--world", "16", "--tp", "2", "--pp", "2", "--intra-node", "2"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("world 16 = pp 2 x dp 4 x tp 2, 2 dp ranks per node\n"));
  EXPECT_THAT(answer.out, HasSubstr("tp   tensor parallel: 8 gangs of 2\n"));
  EXPECT_THAT(answer.out, HasSubstr("[0,1] [2,3] [4,5]"));
}

TEST(MeshCommand, SummarisesALargeWorld) {
  const Answer answer = ask({"mesh", "--world", "65536", "--tp", "8"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_LT(answer.out.size(), 4000U);
  EXPECT_THAT(answer.out, HasSubstr("8192 gangs of 8"));
}

TEST(MeshCommand, WritesEveryGangAsJson) {
  const std::string path = temporary("mesh.json");
  ASSERT_EQ(ask({"mesh", "--world", "8", "--tp", "2", "--json", path}).status, 0);
  const auto json = nlohmann::json::parse(read_file("file", path));
  EXPECT_EQ(json["format"], "gangsim mesh");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["world"], 8);
  EXPECT_EQ(json["gangs"]["tp"], nlohmann::json::parse("[[0,1],[2,3],[4,5],[6,7]]"));
  EXPECT_EQ(json["gangs"]["dp"], nlohmann::json::parse("[[0,2,4,6],[1,3,5,7]]"));
  EXPECT_EQ(json["gangs"].size(), 6U);
}

TEST(MeshCommand, RefusesSizesThatDoNotDivide) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"mesh", "--world", "8", "--tp", "3"},
                                             {"mesh", "--world", "0"},
                                             {"mesh", "--world", "8", "--intra-node", "3"},
                                             {"mesh", "--world", "8", "--intra-node", "1"}}) {
    const Answer answer = ask(arguments);
    EXPECT_EQ(answer.status, 2) << arguments.back();
    EXPECT_EQ(answer.out, "");
    EXPECT_NE(answer.err, "");
  }
}

TEST(MeshCommand, DrawsEachRankInItsPlaceAndNodesApart) {
  EXPECT_EQ(ask({"mesh", "--world", "16", "--tp", "2", "--pp", "2", "--intra-node", "2"}).out,
            R"(world 16 = pp 2 x dp 4 x tp 2, 2 dp ranks per node

  pp 0       tp0   tp1
    dp 0       0     1
    dp 1       2     3
          ------------
    dp 2       4     5
    dp 3       6     7

  pp 1       tp0   tp1
    dp 0       8     9
    dp 1      10    11
          ------------
    dp 2      12    13
    dp 3      14    15

  root all ranks: 1 gang of 16
       [0-15]

  dp   data parallel: 4 gangs of 4
       [0,2,4,6] [1,3,5,7] [8,10,12,14] [9,11,13,15]

  rdp  replicated data parallel: 8 gangs of 2
       [0,4] [1,5] [2,6] [3,7] [8,12] [9,13] [10,14] [11,15]

  sdp  sharded data parallel: 8 gangs of 2
       [0,2] [1,3] [4,6] [5,7] [8,10] [9,11] [12,14] [13,15]

  tp   tensor parallel: 8 gangs of 2
       [0,1] [2,3] [4,5] [6,7] [8,9] [10,11] [12,13] [14,15]

  pp   pipeline parallel: 8 gangs of 2
       [0,8] [1,9] [2,10] [3,11] [4,12] [5,13] [6,14] [7,15]
)");
}

TEST(MeshCommand, ListsSixteenGangsAndTheLast) {
  const std::string text = ask({"mesh", "--world", "36", "--tp", "2"}).out;
  EXPECT_THAT(text, HasSubstr("  tp   tensor parallel: 18 gangs of 2\n"
                              "       [0,1] [2,3] [4,5] [6,7] [8,9] [10,11] [12,13] [14,15] "
                              "[16,17] [18,19]\n"
                              "       [20,21] [22,23] [24,25] [26,27] [28,29] [30,31] ... [34,35]"
                              "\n"));
  EXPECT_THAT(text, HasSubstr("  dp   data parallel: 2 gangs of 18\n"
                              "       [0-34:2] [1-35:2]\n"));
  EXPECT_THAT(ask({"mesh", "--world", "32", "--tp", "2"}).out, HasSubstr(" [28,29] [30,31]\n"));
  EXPECT_THAT(ask({"mesh", "--world", "34", "--tp", "2"}).out, HasSubstr(" [30,31] ... [32,33]\n"));
  EXPECT_THAT(ask({"mesh", "--world", "10", "--tp", "5"}).out, HasSubstr(" [0-4] [5-9]\n"));
}

TEST(MeshCommand, DrawsWhatFitsOnAPage) {
  const auto is_drawn = [](const std::string& world, const std::string& tp) {
    return ask({"mesh", "--world", world, "--tp", tp}).out.find("  pp 0 ") != std::string::npos;
  };
  EXPECT_TRUE(is_drawn("256", "1"));
  EXPECT_FALSE(is_drawn("257", "1"));
  EXPECT_TRUE(is_drawn("44", "11"));
  EXPECT_FALSE(is_drawn("24", "12"));
}

}  // namespace
}  // namespace gang::harness
