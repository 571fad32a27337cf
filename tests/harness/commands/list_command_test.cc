#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/commands/commands.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(ListCommand, ListsEverything) {
  const std::string text = ask({"list"}).out;
  for (const char* heading :
       {"programs\n", "backends\n", "contexts\n", "schedules\n", "faults\n"}) {
    EXPECT_THAT(text, HasSubstr(heading));
  }
}

TEST(ListCommand, ListsOneThing) {
  const std::string text = ask({"list", "programs"}).out;
  EXPECT_THAT(text, HasSubstr("every_collective"));
  EXPECT_THAT(text, HasSubstr("intra_node"));
  EXPECT_THAT(text, testing::Not(HasSubstr("backends\n")));
  EXPECT_THAT(ask({"list", "faults"}).out, HasSubstr("none"));
}

TEST(ListCommand, ListsFaultyProgramsWithTheirFindings) {
  const std::string text = ask({"list", "faulty"}).out;
  EXPECT_THAT(text, HasSubstr("  missing_rank         participant_missing       "));
  EXPECT_GE(std::ranges::count(text, '\n'), 41);
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
    EXPECT_LE(text.find('\n', begin) - begin, 80U) << text.substr(begin, 90);
  EXPECT_THAT(ask({"list", "programs"}).out, testing::Not(HasSubstr("missing_rank")));
}

TEST(ListCommand, SaysWhatCanBeListed) {
  const Answer answer = ask({"list", "program"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("did you mean 'programs'?"));
}

}  // namespace
}  // namespace gang::harness
