#include "harness/commands/list_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(ListCommand, SaysWhatCanBeListed) {
  const Answer answer = ask({"list", "program"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("did you mean 'programs'?"));
}

}  // namespace
}  // namespace gang::harness
