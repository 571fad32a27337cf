#include "harness/commands/command_line.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <sstream>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/text/version.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

// A command that fails on request.
class Probe final : public Command {
 public:
  std::string name() const override { return "probe"; }
  std::string description() const override { return "fails as it is told"; }
  std::vector<std::string> examples() const override { return {"probe --fail yes"}; }
  std::vector<Option> options() override {
    return {text_option("--fail", "HOW", "how", how_),
            number_option("--cases", "how many", cases_, 1, 9)};
  }
  int run(CommandContext& context) override {
    if (how_ == "input") throw InvalidArgument("two\nlines");
    if (how_ == "environment") throw NotSupported("no such backend");
    if (how_ == "memory") throw std::bad_alloc();
    if (how_ == "threads") throw std::system_error(EAGAIN, std::generic_category());
    context.out << "probed\n";
    return exit_status::finding;
  }

 private:
  std::string how_;
  int cases_ = 0;
};

// A command that runs something else, whose options are not its own.
class Starter final : public Command {
 public:
  std::string name() const override { return "starter"; }
  std::string description() const override { return "starts something"; }
  std::vector<std::string> examples() const override { return {"starter train.py --epochs 1"}; }
  std::vector<Option> options() override {
    return {rest_option("PROGRAM", "what it starts", words_),
            number_option("--world", "how many", world_, 1, 9),
            flag_option("--quiet", "prints nothing", quiet_), json_.option("the run")};
  }
  int run(CommandContext& context) override {
    context.out << world_ << (quiet_ ? " quiet" : "") << json_.path();
    for (const std::string& word : words_) context.out << '|' << word;
    return exit_status::holds;
  }

 private:
  std::vector<std::string> words_;
  int world_ = 0;
  bool quiet_ = false;
  FileOption json_{"--json"};
};

struct CommandAnswer {
  int status = 0;
  std::string out;
  std::string err;
};

CommandAnswer run_probe(const std::vector<std::string>& arguments) {
  CommandLine command_line{.binary = "tool",
                           .description = "A tool.",
                           .programs = all_programs(),
                           .commands = make_standard_commands(),
                           .listings = make_standard_listings()};
  command_line.commands.push_back(std::make_unique<Probe>());
  command_line.commands.push_back(std::make_unique<Starter>());
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(command_line, arguments, out, err);
  return {status, out.str(), err.str()};
}

TEST(CommandLine, RunsACommand) {
  const CommandAnswer answer = run_probe({"probe"});
  EXPECT_EQ(answer.status, exit_status::finding);
  EXPECT_EQ(answer.out, "probed\n");
  EXPECT_EQ(answer.err, "");
}

TEST(CommandLine, HelpsWithEveryCommandAndItsExamples) {
  EXPECT_THAT(run_probe({"--help"}).out, HasSubstr("probe     fails as it is told"));
  const CommandAnswer answer = run_probe({"probe", "--help"});
  EXPECT_EQ(answer.status, exit_status::holds);
  EXPECT_THAT(answer.out, HasSubstr("tool probe --fail yes"));
}

TEST(CommandLine, HelpFitsATerminal) {
  EXPECT_LE(width_of(ask({"--help"}).out), sim::terminal_columns);
  for (const auto& command : make_standard_commands([] { return EnvironmentVariables{}; }))
    EXPECT_LE(width_of(ask({command->name(), "--help"}).out), sim::terminal_columns)
        << command->name();
}

TEST(CommandLine, FromTheFirstArgumentOnAllWordsAreThoseOfTheProgram) {
  const auto words = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "starter");
    const CommandAnswer answer = run_probe(arguments);
    EXPECT_EQ(answer.status, exit_status::holds) << answer.err;
    return answer.out;
  };
  EXPECT_EQ(words({}), "0");
  EXPECT_EQ(words({"--world", "4", "train.py", "--world", "5"}), "4|train.py|--world|5");
  EXPECT_EQ(words({"--quiet", "train.py", "--quiet", "--help"}), "0 quiet|train.py|--quiet|--help");
  EXPECT_EQ(words({"--world=4", "train.py"}), "4|train.py");
  EXPECT_EQ(words({"--world", "3", "-m", "package.train", "-x"}), "3|-m|package.train|-x");
  EXPECT_EQ(words({"--quiet", "--", "torchrun", "--", "x"}), "0 quiet|--|torchrun|--|x");
  EXPECT_EQ(words({"train.py", ""}), "0|train.py|");
}

TEST(CommandLine, SomeOptionsAreTakenFromBehindTheProgramToo) {
  using Words = std::vector<std::string>;
  const auto words = [](Words arguments) {
    arguments.insert(arguments.begin(), "starter");
    return run_probe(arguments);
  };
  const CommandAnswer taken = words({"train.py", "-x", "--json", "a", "b"});
  EXPECT_EQ(taken.out, "0a|train.py|-x|b");
  EXPECT_THAT(taken.err, HasSubstr("gangsim itself reads --json;"));
  EXPECT_EQ(words({"train.py", "--json=a"}).out, "0a|train.py");
  EXPECT_THAT(words({"train.py", "--json", "-"}).err, HasSubstr("0-|train.py"));
  EXPECT_EQ(words({"-m", "train", "--json", "a"}).out, "0a|-m|train");
  EXPECT_EQ(words({"--world", "2", "train.py", "--json", "a", "--world", "3"}).out,
            "2a|train.py|--world|3");
  for (const Words& own : {Words{"train.py", "--", "--json", "a"}, Words{"--", "sh", "--json", "a"},
                           Words{"train.py", "--jso", "a"}, Words{"train.py", "--json"},
                           Words{"train.py", "--json", "-x"}}) {
    const CommandAnswer answer = words(own);
    EXPECT_THAT(answer.out, testing::StartsWith("0|")) << own.front();
    EXPECT_EQ(answer.err, "");
  }
  EXPECT_THAT(words({"--json=a", "train.py", "--json=b"}).err, HasSubstr("given 2 times"));
}

struct CommandCase {
  std::vector<std::string> arguments;
  std::string message;
  int status = exit_status::bad_input;
};

class BadCommandLine : public testing::TestWithParam<CommandCase> {};

TEST_P(BadCommandLine, IsReportedInOneLine) {
  const CommandAnswer answer = run_probe(GetParam().arguments);
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, HasSubstr(GetParam().message));
  EXPECT_THAT(answer.err, testing::StartsWith("tool: "));
  EXPECT_EQ(std::ranges::count(answer.err, '\n'), 1);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadCommandLine,
    testing::Values(
        CommandCase{{}, "a command is missing"},
        CommandCase{{"prob"},
                    "command 'prob' is unknown (did you mean 'probe'?); must be one of: "},
        CommandCase{{"probe", "--fial", "x"}, "option '--fial' is unknown (did you mean"},
        CommandCase{{"probe", "extra"}, "unexpected argument 'extra'"},
        CommandCase{{"probe", "--fail"}, "--fail needs a value"},
        CommandCase{{"starter", "--world"}, "--world needs a value"},
        CommandCase{{"starter", "--wrold", "train.py"}, "option '--wrold' is unknown"},
        CommandCase{{"probe", "--cases", "many"}, "--cases is 'many'; must be 1 to 9"},
        CommandCase{{"probe", "--cases", "1", "--cases", "2"},
                    "--cases is given 2 times; must be once"},
        CommandCase{{"probe", "--fail", "input"}, "probe: two lines"},
        CommandCase{
            {"probe", "--fail", "environment"}, "no such backend", exit_status::environment},
        CommandCase{{"probe", "--fail", "memory"}, "too little memory", exit_status::environment},
        CommandCase{{"probe", "--fail", "threads"},
                    "Resource temporarily unavailable",
                    exit_status::environment},
        CommandCase{{"run", "ring", "--json", "-", "--report", "-"},
                    "run: --json and --report are both '-'; only one file can be standard output"},
        CommandCase{{"run"}, "PROGRAM is required"},
        CommandCase{{"run", "mesh", "--set", "tp"}, "key=value"},
        CommandCase{{"run", "mesh", "--world", "6", "--set", "tp=4"}, "does not divide"},
        CommandCase{
            {"run", "ring", "--backend", "nccl"}, "backend nccl", exit_status::environment}));

TEST(CommandLine, ReportsAnOutputThatCannotBeWritten) {
  CommandLine command_line{.binary = "tool", .description = "", .commands = {}};
  command_line.commands.push_back(std::make_unique<Probe>());
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  std::ostringstream err;
  EXPECT_EQ(run_command_line(command_line, {"probe"}, out, err), exit_status::bad_input);
  EXPECT_EQ(err.str(), "tool: standard output cannot be written\n");
}

TEST(CommandLine, HelpIsAskedForInThreeWays) {
  const std::string help = run_probe({"--help"}).out;
  EXPECT_THAT(help, testing::StartsWith("A tool.\n\nusage: tool COMMAND [OPTIONS]\n"));
  EXPECT_EQ(run_probe({"-h"}).out, help);
  EXPECT_EQ(run_probe({"help"}).out, help);
  EXPECT_EQ(run_probe({"help"}).status, exit_status::holds);
}

TEST(CommandLine, SaysItsVersion) {
  const CommandAnswer answer = run_probe({"--version"});
  EXPECT_EQ(answer.status, exit_status::holds);
  EXPECT_EQ(answer.out, "gangsim " + std::string(version()) + "\n");
}

TEST(CommandLine, NotesComeBeforeTheExamples) {
  EXPECT_THAT(run_probe({"explain", "--help"}).out,
              HasSubstr("if the run could be explained.\n\nExamples:\n  tool run suspect.toml "));
  EXPECT_THAT(run_probe({"probe", "--help"}).out, HasSubstr("\n\nExamples:\n  tool probe "));
  EXPECT_THAT(run_probe({"probe", "--help"}).out, testing::Not(HasSubstr("\n\n\n")));
}

TEST(CommandLine, AFlagThatIsSetToFalseIsNotGiven) {
  EXPECT_EQ(run_probe({"starter", "--quiet=true", "x"}).out, "0 quiet|x");
  EXPECT_EQ(run_probe({"starter", "--quiet=false", "x"}).out, "0|x");
}

TEST(CommandLine, ManyOfAListAreTaken) {
  EXPECT_EQ(run_probe({"run", "mesh", "--world", "8", "--set", "tp=2", "--set", "pp=2", "--quiet"})
                .status,
            exit_status::holds);
  const CommandAnswer second = run_probe({"run", "--set", "tp=2", "mesh", "--world", "8"});
  EXPECT_EQ(second.status, exit_status::holds) << second.err << "an option takes one value";
}

TEST(CommandLine, AFileIsGivenOnce) {
  const CommandAnswer answer = run_probe({"run", "ring", "--json", "a", "--json", "b"});
  EXPECT_EQ(answer.status, exit_status::bad_input);
  EXPECT_EQ(answer.err, "tool: run: --json is given 2 times; must be once\n");
}

TEST(CommandLine, ATextThatIsADashIsNoFile) {
  const CommandAnswer answer = run_probe({"probe", "--fail", "-"});
  EXPECT_EQ(answer.out, "probed\n");
  EXPECT_EQ(answer.err, "");
}

TEST(CommandLine, AnOptionThatIsUnknownIsNamedWithoutItsValue) {
  EXPECT_THAT(run_probe({"probe", "--fial=x"}).err,
              testing::StartsWith("tool: probe: option '--fial' is unknown (did you mean "));
}

TEST(CommandLine, AnErrorOfACommandNamesTheCommand) {
  EXPECT_EQ(run_probe({"probe", "--fail", "input"}).err, "tool: probe: two lines\n");
  EXPECT_EQ(run_probe({"probe", "--fail", "environment"}).err, "tool: probe: no such backend\n");
}

}  // namespace
}  // namespace gang::harness
