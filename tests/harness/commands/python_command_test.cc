#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"
#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct PythonCase {
  std::vector<std::string> arguments;
  std::string message;
};

class BadPythonCommand : public testing::TestWithParam<PythonCase> {};

TEST_P(BadPythonCommand, IsToldInOneLine) {
  const Answer answer = ask(GetParam().arguments);
  EXPECT_EQ(answer.status, exit_status::bad_input);
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    PythonCommand, BadPythonCommand,
    testing::Values(
        PythonCase{{"python"}, "PROGRAM is missing"}, PythonCase{{"torch"}, "PROGRAM is missing"},
        PythonCase{{"python", "-m"}, "-m needs the name of a module"},
        PythonCase{{"torch", "--"}, "a command is missing after --"},
        PythonCase{{"python", "--world", "0", "train.py"}, "--world"},
        PythonCase{{"python", "--attach", "x"}, "--attach needs --world"},
        PythonCase{{"python", "--attach", "x", "train.py"}, "--attach starts no process"},
        PythonCase{{"python", "--cuda-as-cpu", "train.py"}, "'--cuda-as-cpu' is unknown"},
        PythonCase{{"python", "--budget", "60s", "train.py"}, "--explore N, which is missing"},
        PythonCase{{"torch", "--strategy", "pos", "train.py"}, "--explore N, which is missing"},
        PythonCase{{"torch", "--explore", "9", "--strategy", "bfs", "train.py"}, "must be one of"},
        PythonCase{
            {"torch", "--explore", "9", "--strategy", "pct:3", "--world", "1000", "train.py"},
            "must be random"},
        PythonCase{{"python", "--", "/absent/launcher"}, "/absent/launcher"},
        PythonCase{{"python", "--", "/bin/sh", "-c", "exit 3"}, "/bin/sh exited with status 3"}));

// Three ranks that connect by themselves run `program`; what the command says of them.
Answer attach(const std::vector<std::string>& options, const conducted::RankProgram& program) {
  static int sockets = 0;
  const std::string path = temporary("attached-" + std::to_string(sockets++));
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back(
        [path, rank, &program] { conducted::live_as(path, Client::caller(rank, 3), program); });
  std::vector<std::string> arguments = {"python", "--world", "3", "--attach", path};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return ask(arguments);
}

OperationMessage barrier_of_root() {
  return {.kind = OperationKind::barrier, .call_site = CallSite::in_function("train.py\0step", 41)};
}

TEST(PythonCommand, AttachedRanksThatHold) {
  const Answer answer = attach({}, [](Client& client) { client.call(barrier_of_root()); });
  EXPECT_EQ(answer.status, exit_status::holds) << answer.err;
  EXPECT_THAT(answer.out, StartsWith("COMPLETED "));
  EXPECT_EQ(attach({"--quiet"}, [](Client& client) { client.call(barrier_of_root()); }).out, "");
}

TEST(PythonCommand, ADeadlockOfAttachedRanksIsReportedAndSaved) {
  const std::string json = temporary("attached.json");
  const Answer answer = attach({"--json", json}, [](Client& client) {
    if (client.rank() != 1) client.call(barrier_of_root());
  });
  EXPECT_EQ(answer.status, exit_status::finding);
  EXPECT_THAT(answer.out, StartsWith("DEADLOCK  participant_missing "));
  EXPECT_THAT(answer.out, HasSubstr("train.py:41"));
  EXPECT_EQ(nlohmann::json::parse(read_file("file", json))["world"], 3);
}

TEST(PythonCommand, ShowsTheTracebackOfARankThatFailed) {
  const Answer answer = attach({}, [](Client& client) {
    if (client.rank() == 2)
      client.tell(FailedMessage{
          .type = "ValueError", .message = "no batch", .traceback = "Traceback: line 9\n"});
  });
  EXPECT_EQ(answer.status, exit_status::finding);
  EXPECT_THAT(answer.out, HasSubstr("ValueError: no batch"));
  EXPECT_THAT(answer.out, HasSubstr("The traceback of rank 2:\n\nTraceback: line 9\n"));
}

TEST(PythonCommand, TheScheduleIsThatOfTheSeed) {
  const auto out = [](const std::string& seed) {
    const std::string trace = temporary("seed.json");
    attach({"--schedule", "random", "--seed", seed, "--trace", trace}, [](Client& client) {
      const std::uint64_t first = client.start(barrier_of_root());
      client.wait({first, client.start(barrier_of_root())});
    });
    return read_file("file", trace);
  };
  EXPECT_EQ(out("1"), out("1"));
  EXPECT_NE(out("1"), out("2"));
}

TEST(PythonCommand, CountsTheCostOfGroupsAndOfWhatIsMadeFromThem) {
  const std::string file = temporary("cost.json");
  const Answer answer = attach({"--cost", "--cost-json", file}, [](Client& client) {
    client.call(barrier_of_root());
    OperationMessage sum{.kind = OperationKind::all_reduce,
                         .type = DataType::f32,
                         .count = 2,
                         .data = std::vector<std::byte>(8)};
    client.call(sum);
    client.group(1, "pair", {0, 1, 2});
    sum.group = 1;
    for (int i = 0; i < 3; ++i) client.call(sum);
    OperationMessage split{
        .group = 1, .kind = OperationKind::split, .result = 2, .first = {0, 0}, .label = "half"};
    client.call(split);
    sum.group = 2;
    client.call(sum);
  });
  EXPECT_EQ(answer.status, exit_status::holds) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("Cost of a step"));
  std::map<std::string, std::pair<int, int>> sums;  // calls and bytes
  const auto json = nlohmann::json::parse(read_file("file", file));
  for (const auto& operation : json["slowest_rank"]["operations"])
    if (operation["operation"] == "all_reduce")
      sums[operation["gang"]] = {operation["calls"], operation["bytes"]};
  EXPECT_EQ(sums, (std::map<std::string, std::pair<int, int>>{
                      {"root", {1, 8}}, {"pair", {3, 24}}, {"half", {1, 8}}}));
}

TEST(PythonCommand, HelpsWithItsExamples) {
  const Answer answer = ask({"torch", "--help"});
  EXPECT_EQ(answer.status, exit_status::holds);
  EXPECT_THAT(answer.out, HasSubstr("gangsim torch -- torchrun"));
}

}  // namespace
}  // namespace gang::harness
