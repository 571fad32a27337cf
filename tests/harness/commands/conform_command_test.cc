#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/root_gang.h"
#include "gang/store/tcp_store_server.h"
#include "harness/backends/launcher.h"
#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
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
  const std::string port = std::to_string(TcpStoreServer().port());
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
  const std::string port = std::to_string(TcpStoreServer().port());
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
    const std::string port = std::to_string(TcpStoreServer().port());
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
  const std::string port = std::to_string(TcpStoreServer().port());
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

}  // namespace
}  // namespace gang::harness
