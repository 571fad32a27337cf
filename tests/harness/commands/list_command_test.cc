#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/backends/backend.h"
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

TEST(ListCommand, ALongNameStandsAboveItsDescription) {
  CommandLine command_line{.binary = "tool", .description = ""};
  command_line.commands.push_back(make_list_command());
  command_line.listings = {{"laws", [] {
                              return std::vector<Listing::Entry>{
                                  {"recordings.a_recording_is_a_program", "It runs."}};
                            }}};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_command_line(command_line, {"list", "laws"}, out, err), 0);
  EXPECT_EQ(out.str(),
            "laws\n"
            "  recordings.a_recording_is_a_program\n"
            "                        It runs.\n");
}

TEST(ListCommand, FitsATerminal) { EXPECT_LE(width_of(ask({"list"}).out), sim::terminal_columns); }

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

TEST(ListCommand, AParameterIsALineWithWhatItAcceptsAndItsDefault) {
  Program program{"train", "one step", [](Rank&) {}};
  program.parameters = {integer_parameter("count", 3, {0, 9}, "elements")};
  CommandLine command_line{.binary = "tool", .description = "", .programs = {program}};
  command_line.commands.push_back(make_list_command());
  command_line.listings = {{"laws", [] { return std::vector<Listing::Entry>{}; }}};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_command_line(command_line, {"list"}, out, err), 0);
  EXPECT_EQ(out.str(),
            "programs\n"
            "  train                 one step\n"
            "    count           elements: 0 to 9 [3]\n"
            "faulty (with --set fixed=true each is correct)\n"
            "  none\n"
            "laws\n"
            "  none\n");
}

TEST(ListCommand, ABackendThatCannotRunHereSaysWhy) {
  std::string expected = "backends\n";
  for (const Backend& backend : all_backends()) {
    const std::string why = "unavailable: " + backend.unavailable;
    expected += sim::described(to_string(backend.kind),
                               backend.is_available() ? backend.description : why, 24);
  }
  EXPECT_EQ(ask({"list", "backends"}).out, expected);
}

}  // namespace
}  // namespace gang::harness
