#include "harness/explanation/coloured_text.h"

#include <cstdlib>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

sim::MarkedText report_of(Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return marked_text(run(program, {.program = "test", .world_size = 4}));
}

sim::MarkedText deadlock() {
  return report_of([](Rank& rank) {
    if (rank.rank() != 2) rank.root()->barrier();
  });
}

sim::MarkedText completed_run() {
  return report_of([](Rank& rank) { rank.root()->barrier(); });
}

std::string without_escapes(const std::string& text) {
  return std::regex_replace(text, std::regex("\033\\[[0-9;]*m"), "");
}

TEST(ColouredText, IsTheSameTextWithoutTheEscapes) {
  for (const sim::MarkedText& report : {deadlock(), completed_run(), sim::MarkedText()}) {
    EXPECT_EQ(styled(report, TextStyle::plain), plain_text(report));
    EXPECT_EQ(without_escapes(styled(report, TextStyle::coloured)), plain_text(report));
  }
}

TEST(ColouredText, TheVerdictIsRedOrGreen) {
  EXPECT_THAT(styled(deadlock(), TextStyle::coloured), StartsWith("\033[1;31mDEADLOCK\033[0m"));
  EXPECT_THAT(styled(completed_run(), TextStyle::coloured),
              StartsWith("\033[1;32mCOMPLETED\033[0m"));
}

TEST(ColouredText, AdviceAndHeadingsAreSetOff) {
  const std::string text = styled(deadlock(), TextStyle::coloured);
  EXPECT_THAT(text, HasSubstr("\n\033[2m  rank   blocked in "));
  EXPECT_THAT(text, HasSubstr("  \033[1mFix\033[0m        have every member"));
  EXPECT_THAT(text, HasSubstr("  \033[1mReproduce\033[0m  gangsim run test"));
}

class TextStyleOf : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  void TearDown() override { ::unsetenv("NO_COLOR"); }
};

TEST_F(TextStyleOf, ATerminalIsColoured) { EXPECT_EQ(text_style(true), TextStyle::coloured); }

TEST_F(TextStyleOf, APipeIsPlain) { EXPECT_EQ(text_style(false), TextStyle::plain); }

TEST_F(TextStyleOf, NoColorIsRespected) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(text_style(true), TextStyle::plain);
  ::setenv("NO_COLOR", "", 1);
  EXPECT_EQ(text_style(true), TextStyle::coloured);
}

TEST_F(TextStyleOf, ADumbTerminalIsPlain) {
  ::setenv("TERM", "dumb", 1);
  EXPECT_EQ(text_style(true), TextStyle::plain);
}

TEST_F(TextStyleOf, WhereNoTerminalIsNamedItIsPlain) {
  ::unsetenv("TERM");
  EXPECT_EQ(text_style(true), TextStyle::plain);
}

}  // namespace
}  // namespace gang::harness
