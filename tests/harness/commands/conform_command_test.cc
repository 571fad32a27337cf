#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/root_gang.h"
#include "harness/backends/launcher.h"
#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/free_port.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

// Asks `conform` under the given variables.
Answer ask_under(const EnvironmentVariables& variables, std::vector<std::string> arguments) {
  CommandLine command_line{.binary = "gangsim", .description = "", .programs = all_programs()};
  command_line.commands.push_back(make_conform_command([variables] { return variables; }));
  arguments.insert(arguments.begin(), "conform");
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(command_line, arguments, out, err);
  return {status, out.str(), err.str()};
}

TEST(ConformCommand, RunsOnEveryProcessOfAJob) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  const std::string port = std::to_string(test::free_port());
  const std::string junit = temporary("conform.xml");
  const auto ends = run_processes(
      3,
      [&](int rank) {
        const Answer answer = ask_under({{"RANK", std::to_string(rank)},
                                         {"WORLD_SIZE", "3"},
                                         {"MASTER_ADDR", "127.0.0.1"},
                                         {"MASTER_PORT", port}},
                                        {"every_collective", "ring", "--junit", junit});
        return std::to_string(answer.status) + answer.out + answer.err;
      },
      60s);
  EXPECT_THAT(ends[0].result, HasSubstr("0CONFORMS  gloo against sim, world 3, seed 1"));
  EXPECT_EQ(ends[1].result, "0");
  EXPECT_EQ(ends[2].result, "0");
  EXPECT_THAT(read_file("JUnit", junit), HasSubstr("tests=\"2\" failures=\"0\""));
}

TEST(ConformCommand, RecordsEachProgram) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  const std::string port = std::to_string(test::free_port());
  const std::string folder = temporary("conform_dumps");
  run_processes(
      2,
      [&](int rank) {
        return std::to_string(ask_under({{"RANK", std::to_string(rank)},
                                         {"WORLD_SIZE", "2"},
                                         {"MASTER_ADDR", "127.0.0.1"},
                                         {"MASTER_PORT", port}},
                                        {"ring", "all_reduce", "--cases", "0", "--record", folder})
                                  .status);
      },
      60s);
  for (const char* program : {"/0_ring", "/1_all_reduce"}) {
    const Answer answer = ask({"explain", folder + program});
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("world 2\n"));
  }
  EXPECT_EQ(ask({"run", folder + "/0_ring"}).status, 0);
}

TEST(ConformCommand, FaultsThatEndProcessesAreContainedAndEndNone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow processes forked from one with threads";
#endif
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  for (const std::string kind : {"kill", "stop", "exit", "restart"}) {
    const std::string port = std::to_string(test::free_port());
    const auto ends = run_processes(
        3,
        [&](int rank) {
          const Answer answer =
              ask_under({{"RANK", std::to_string(rank)},
                         {"WORLD_SIZE", "3"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", port}},
                        {"ring", "--faults", kind, "--cases", "2", "--timeout", "1s"});
          return std::to_string(answer.status) + answer.out + answer.err;
        },
        60s);
    EXPECT_THAT(ends[0].result, HasSubstr("0CONFORMS  gloo against sim, world 3, seed 1"));
    EXPECT_THAT(ends[0].result, HasSubstr("✓  ring, " + kind + " 1"));
    EXPECT_EQ(ends[1].result, "0") << ends[1].death;
    EXPECT_EQ(ends[2].result, "0") << ends[2].death;
  }
}

TEST(ConformCommand, AFolderThatCannotBeWrittenIsBadInput) {
  const Answer answer = ask_under(
      {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"GANGSIM_RECORD", "/proc/nowhere"}}, {"ring"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("flight recorder: cannot write to folder /proc/nowhere"));
}

TEST(ConformCommand, FaultsItDoesNotKnowAreBadInput) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  const Answer unknown =
      ask_under({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, {"ring", "--faults", "kil"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--faults 'kil' is unknown (did you mean 'kill'?)"));
}

TEST(ConformCommand, OutsideAJobItSaysWhatIsMissing) {
  const Answer answer = ask_under({}, {});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("RANK and WORLD_SIZE are not set"));
  EXPECT_THAT(ask_under({{"RANK", "x"}, {"WORLD_SIZE", "2"}}, {}).err, HasSubstr("RANK is 'x'"));
  EXPECT_EQ(ask_under({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, {"--backend", "nccl"}).status, 3);
}

TEST(ConformCommand, RanksThatDoNotComeAreTheEnvironmentsFault) {
  if (!gloo_availability().is_available)
    GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  const std::string port = std::to_string(test::free_port());
  const Answer answer = ask_under(
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}},
      {"ring", "--timeout", "200ms"});
  EXPECT_EQ(answer.status, 3);
  EXPECT_THAT(answer.err, HasSubstr("1 of 2 ranks came"));
}

TEST(ConformCommand, WhyItFailedIsWrittenForTorchrun) {
  const std::string path = temporary("error.json");
  ask_under({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"TORCHELASTIC_ERROR_FILE", path}},
            {"no_such_program"});
  EXPECT_THAT(read_file("error file", path), HasSubstr("no_such_program"));
}

// -- A job of one rank --

class ConformAlone : public testing::Test {
 protected:
  void SetUp() override {
    if (!gloo_availability().is_available)
      GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  }

  static Answer ask_alone(const std::vector<std::string>& arguments) {
    return ask_under({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, arguments);
  }

  // What it says of the cases, one line each.
  static std::vector<std::string> programs_of(const std::string& path) {
    std::vector<std::string> programs;
    const auto report = nlohmann::json::parse(read_file("file", path));
    for (const auto& one : report["cases"]) programs.push_back(one["program"]);
    return programs;
  }
};

TEST_F(ConformAlone, ChecksAllProgramsUnlessSomeAreNamed) {
  const std::string path = temporary("conform_alone.json");
  const Answer answer = ask_alone({"--cases", "0", "--seed", "7", "--json", path});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(programs_of(path),
              testing::ElementsAre("all_reduce", "data_parallel_step", "every_collective", "ring"));
  EXPECT_EQ(nlohmann::json::parse(read_file("file", path))["seed"], 7);
  ask_alone({"ring", "--json", path});
  EXPECT_THAT(programs_of(path), testing::ElementsAre("ring"));
}

TEST_F(ConformAlone, RandomProgramsAreAsManyAsAskedForAndThoseOfTheSeed) {
  const auto parameters_with = [](const std::vector<std::string>& options) {
    std::vector<std::int64_t> seen;
    const Program random{"random", "", [&seen](Rank& rank) {
                           seen = {rank.parameter<std::int64_t>("cases"),
                                   rank.parameter<std::int64_t>("seed")};
                         }};
    CommandLine command_line{.binary = "tool", .description = "", .programs = {random}};
    command_line.programs[0].parameters = {integer_parameter("cases", 1, {0, 1000}, ""),
                                           integer_parameter("seed", 1, {0, 1000}, "")};
    command_line.programs.push_back(find_program(all_programs(), "ring"));
    command_line.commands.push_back(make_conform_command(
        [] { return EnvironmentVariables{{"RANK", "0"}, {"WORLD_SIZE", "1"}}; }));
    std::vector<std::string> arguments = {"conform", "ring"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run_command_line(command_line, arguments, out, err), 0) << err.str();
    return seen;
  };
  EXPECT_THAT(parameters_with({"--cases", "3", "--seed", "7"}), testing::ElementsAre(3, 7));
  EXPECT_THAT(parameters_with({}), testing::ElementsAre(20, 1));
  EXPECT_THAT(parameters_with({"--cases", "0"}), testing::IsEmpty());
}

TEST_F(ConformAlone, EachFaultOfAProgramIsACase) {
  const std::string path = temporary("conform_faults.json");
  EXPECT_EQ(ask_alone({"ring", "all_reduce", "--faults", "exception", "--cases", "2", "--seed", "9",
                       "--json", path})
                .status,
            0);
  EXPECT_THAT(programs_of(path),
              testing::ElementsAre("ring, exception 0", "ring, exception 1",
                                   "all_reduce, exception 0", "all_reduce, exception 1"));
  EXPECT_EQ(nlohmann::json::parse(read_file("file", path))["seed"], 9);
}

TEST_F(ConformAlone, FaultsThatItCannotInjectAreBadInput) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--faults", "store"}, "--faults is 'store', but this job's store belongs to its launcher"},
      {{"--faults", "kill", "--cases", "0"}, "--cases is 0 with --faults; must be 1 or more"}};
  for (const auto& [options, expected] : refused) {
    std::vector<std::string> arguments = {"ring"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Answer answer = ask_alone(arguments);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, HasSubstr(expected));
  }
}

TEST_F(ConformAlone, ADifferenceIsAFindingAndWrittenForTorchrun) {
  const std::string error = temporary("conform_error.json");
  const std::string sarif = temporary("conform_differs.sarif");
  int runs = 0;
  const Program differs{"differs", "", [&runs](Rank& rank) { rank.output("run", ++runs); }};
  CommandLine command_line{.binary = "tool", .description = "", .programs = {differs}};
  command_line.commands.push_back(make_conform_command([&error] {
    return EnvironmentVariables{
        {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"TORCHELASTIC_ERROR_FILE", error}};
  }));
  std::ostringstream out;
  std::ostringstream err;
  const int status =
      run_command_line(command_line, {"conform", "differs", "--sarif", sarif}, out, err);
  EXPECT_EQ(status, 1) << err.str() << out.str();
  EXPECT_THAT(read_file("error file", error),
              HasSubstr("conform: the real backend and simulation differ"));
  EXPECT_THAT(read_file("file", sarif), HasSubstr("differs"));
}

TEST_F(ConformAlone, ChecksItsFilesBeforeItRuns) {
  for (const char* option : {"--json", "--junit", "--sarif"}) {
    const Answer answer = ask_alone({"ring", option, "/absent/file"});
    EXPECT_EQ(answer.status, 2) << option;
    EXPECT_EQ(answer.out, "") << option;
  }
}

TEST_F(ConformAlone, TheFolderThatIsGivenWinsOverThatOfTheEnvironment) {
  const std::string given = temporary("conform_given");
  const std::string other = temporary("conform_other");
  EXPECT_EQ(ask_under({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"GANGSIM_RECORD", other}},
                      {"ring", "--cases", "0", "--record", given})
                .status,
            0);
  EXPECT_TRUE(std::filesystem::exists(given + "/nccl_trace_rank_0"));
  EXPECT_FALSE(std::filesystem::exists(other));
}

}  // namespace
}  // namespace gang::harness
