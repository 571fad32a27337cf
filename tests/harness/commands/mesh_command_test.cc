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

}  // namespace
}  // namespace gang::harness
