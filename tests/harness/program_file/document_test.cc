#include "harness/program_file/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string path() { return test::temporary_directory() + "document_test.toml"; }

Document read_text(std::string_view text) {
  OutputFile{"file", path()}.commit(text);
  return read_document(path());
}

TEST(ReadDocument, ReadsAProgramFile) {
  const Document document = read_text(R"(
world = 4
layout = { tp = 2 }
[gangs]
pairs = [[0, 1], [3, 2]]
one = [0, 3]
[options]
schedule = "random"
seed = 9
strict_blocking = true
[[do]]
calls = ["pairs barrier"]
[expect]
outcome = "deadlock"
findings = ["participant_missing"]
)");
  ASSERT_TRUE(document.program_file);
  EXPECT_EQ(document.program_file->layout->sizes.tp_size, 2);
  EXPECT_EQ(document.program_file->gangs[0].rank_lists.size(), 2U);
  EXPECT_EQ(document.program_file->gangs[1].rank_lists, (std::vector<std::vector<int>>{{0, 3}}));
  EXPECT_EQ(document.specification.world_size, 4);
  EXPECT_EQ(document.specification.schedule, ScheduleChoice::random);
  EXPECT_EQ(document.specification.options.seed, 9U);
  EXPECT_TRUE(document.specification.options.strict_blocking);
  EXPECT_EQ(document.expectation.outcome, "deadlock");
}

TEST(ReadDocument, SaysWhetherTensorsHaveContents) {
  const auto has_data = [](const std::string& line) {
    return parse_document("a.toml", "world = 2\n" + line + "[[do]]\ncalls = ['root barrier']\n")
        .program_file->has_data;
  };
  EXPECT_TRUE(has_data(""));
  EXPECT_TRUE(has_data("data = true\n"));
  EXPECT_FALSE(has_data("data = false\n"));
  EXPECT_THROW(has_data("data = 0\n"), InvalidArgument);
}

TEST(ReadDocument, ReadsAScenario) {
  const Document document = read_text(R"(
program = "ring"
world = 6
[set]
count = 100
[faults]
)");
  EXPECT_FALSE(document.program_file);
  EXPECT_EQ(document.program_name, "ring");
  EXPECT_EQ(document.specification.parameters.at("count"), "100");
}

struct DocumentCase {
  const char* text;
  const char* message;
};

class BadDocument : public testing::TestWithParam<DocumentCase> {};

TEST_P(BadDocument, IsReportedWithItsPlace) {
  EXPECT_THAT([] { read_text(GetParam().text); },
              ThrowsMessage<InvalidArgument>(HasSubstr(path() + GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    ReadDocument, BadDocument,
    testing::Values(
        DocumentCase{"world = [", ":1:"},
        DocumentCase{"wrld = 4", ":1:1: key 'wrld' is unknown (did you mean"},
        DocumentCase{"world = 4", ": neither 'program'"},
        DocumentCase{"[[do]]", ": a program file says 'world"},
        DocumentCase{"world = 0\n[[do]]", ":1:9: world is 0; must be 1 to 4194304"},
        DocumentCase{"program = \"ring\"\n[[do]]", ":2:1: do belongs to a program file"},
        DocumentCase{"program = \"ring\"\n[options]\nsede = 1", ":3:8: option 'sede' is unknown"},
        DocumentCase{"program = \"ring\"\n[options]\nseed = \"x\"", ":3:8: --seed is 'x'"},
        DocumentCase{"program = \"ring\"\n[faults]\ndrop = 1",
                     ":3: key 'drop' is unknown; must be one of: "},
        DocumentCase{"program = \"ring\"\n[expect]\noutcome = \"hang\"",
                     ":3:11: outcome 'hang' is unknown"},
        DocumentCase{"program = \"ring\"\n[expect]\nat = [9]", ":3:7: a place"},
        DocumentCase{"program = \"ring\"\n[expect]\nrank = [9]", ":3:1: key 'rank' is unknown"},
        DocumentCase{"world = 4\n[gangs]\ng = [0, 0]\n[[do]]", ":3:5: rank 0 is in g twice"},
        DocumentCase{"program = \"ring\"\ndata = true", ":2:8: data belongs to a program file"},
        DocumentCase{"world = 4\n[gangs]\nroot = [0]\n[[do]]", ":3:8: root is always there"},
        DocumentCase{"world = 4\n[gangs]\ng = []\n[[do]]", ":3:5: a gang has at least one rank"},
        DocumentCase{"world = 4\nlayout = { tp = 0 }\n[[do]]", ":2:17: tp is 0"}));

TEST(ReadDocument, SaysWhatCannotBeRead) {
  EXPECT_THAT([] { read_document("/absent/x.toml"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("/absent/x.toml: cannot be read")));
}

TEST(ReadDocument, ReadsALayoutWithNodes) {
  const Document document =
      parse_document("a.toml", "world = 12\nlayout = { tp = 2, pp = 3, intra_node = 2 }\n[[do]]\n");
  const auto& layout = document.program_file->layout.value();
  EXPECT_EQ(layout.sizes.tp_size, 2);
  EXPECT_EQ(layout.sizes.pp_size, 3);
  EXPECT_EQ(layout.intra_node_size, 2);
  EXPECT_EQ(document.specification.program, "a.toml");
}

TEST(ReadDocument, GangsAreInTheOrderOfTheFile) {
  const Document document = parse_document(
      "a.toml", "world = 2\n[gangs]\nzeta = [0]\nalpha = [1]\nmiddle = [0]\n[[do]]\n");
  std::vector<std::string> names;
  for (const DeclaredGang& gang : document.program_file->gangs) names.push_back(gang.name);
  EXPECT_EQ(names, (std::vector<std::string>{"zeta", "alpha", "middle"}));
}

TEST(ReadDocument, ExpectsRanksInAnyOrderAndPlaces) {
  const Document document =
      parse_document("a.toml", "program = \"ring\"\n[expect]\nranks = [3, 1]\nat = [\"a.cc:7\"]\n");
  EXPECT_EQ(document.expectation.ranks, (std::vector{1, 3}));
  EXPECT_EQ(document.expectation.at, std::vector<std::string>{"a.cc:7"});
}

TEST(ReadDocument, AnEmptyTableOfFaultsIsNoPlan) {
  EXPECT_FALSE(parse_document("a.toml", "program = \"ring\"\n[faults]\n").specification.faults);
}

}  // namespace
}  // namespace gang::harness::program_file
