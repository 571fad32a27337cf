#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/root_gang.h"
#include "harness/commands/commands.h"
#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

class CompareCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!gloo_availability().is_available)
      GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  }
};

TEST_F(CompareCommand, EveryCollectiveIsEqualBitForBit) {
  const Answer answer = ask({"compare", "every_collective", "--backend", "gloo", "--world", "3"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("equal, bit for bit"));
  EXPECT_THAT(answer.out, HasSubstr("Reproduce  gangsim compare every_collective --world 3"));
}

TEST_F(CompareCommand, ADeadlockIsATimeoutOnProcesses) {
  const Answer answer = ask({"compare", program_file("tp_dp_deadlock.toml"), "--timeout", "300ms"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("stuck on both"));
}

TEST_F(CompareCommand, WritesJson) {
  const std::string path = temporary("compare.json");
  EXPECT_EQ(ask({"compare", "ring", "--world", "2", "--quiet", "--json", path}).out, "");
  EXPECT_THAT(read_file("result", path), HasSubstr("\"agrees\": true"));
}

TEST_F(CompareCommand, FaultsOfProcessesAreContained) {
  const Answer answer = ask({"compare", "ring", "--world", "3", "--faults", "kill", "--cases", "2",
                             "--timeout", "1s", "--seed", "4"});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("CONTAINED  ring on gloo, world 3, kill, 2 cases, seed 4"));
  EXPECT_THAT(answer.out, HasSubstr("Fired      2 of 2 faults"));
  EXPECT_THAT(answer.out, HasSubstr("Reproduce  gangsim compare ring --world 3 --seed 4 --backend "
                                    "gloo --timeout 1s --faults kill --cases 2"));
}

TEST_F(CompareCommand, SaysWhatItNeedsForFaults) {
  EXPECT_THAT(ask({"compare", "ring", "--faults", "kil"}).err, HasSubstr("did you mean 'kill'?"));
  EXPECT_THAT(ask({"compare", "ring", "--faults", "kill", "--cases", "0"}).err,
              HasSubstr("--cases is '0'"));
  EXPECT_THAT(ask({"compare", "ring", "--case", "3"}).err, HasSubstr("--case needs --faults"));
  EXPECT_THAT(ask({"compare", "ring", "--faults", "kill", "--backend", "sim"}).err,
              HasSubstr("--backend is 'sim' with --faults; must be gloo"));
}

TEST_F(CompareCommand, SaysWhatItNeeds) {
  EXPECT_THAT(ask({"compare"}).err, HasSubstr("PROGRAM is missing"));
  EXPECT_THAT(ask({"compare", "ring", "--random"}).err, HasSubstr("which --random excludes"));
  EXPECT_THAT(ask({"compare", "ring", "--against", "x"}).err,
              HasSubstr("must be one of: sim, sim-gloo"));
  EXPECT_THAT(ask({"compare", "ring", "--cases", "3"}).err,
              HasSubstr("needs --random or --faults"));
  EXPECT_EQ(ask({"compare", "ring", "--backend", "mpi"}).status, 2);
  EXPECT_EQ(ask({"compare", "ring", "--backend", "nccl"}).status, 3);
}

// Puts out a number for each of its cases.
Program random_of_test() {
  Program random{"random", "", [](Rank& rank) {
                   const auto first = rank.parameter<std::int64_t>("first");
                   for (std::int64_t i = 0; i < rank.parameter<std::int64_t>("cases"); ++i)
                     rank.output("case", 1000 * rank.parameter<std::int64_t>("seed") + first + i);
                 }};
  for (const char* name : {"first", "cases", "seed"})
    random.parameters.push_back(integer_parameter(name, 1, {0, 1000}, ""));
  return random;
}

// What it writes where the programs are `programs` and ring; it must agree.
nlohmann::json comparison_of(std::vector<std::string> arguments,
                             std::vector<Program> programs = {random_of_test()}) {
  const std::string path = temporary("comparison_values.json");
  arguments.insert(arguments.begin(), "compare");
  arguments.insert(arguments.end(), {"--json", path});
  programs.push_back(find_program(all_programs(), "ring"));
  CommandLine command_line{.binary = "tool", .description = "", .programs = std::move(programs)};
  command_line.commands.push_back(make_compare_command([] { return EnvironmentVariables(); }));
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_command_line(command_line, arguments, out, err), 0) << out.str() << err.str();
  return nlohmann::json::parse(read_file("result", path));
}

TEST_F(CompareCommand, RandomProgramsAreThoseOfTheSeed) {
  std::vector<std::int64_t> seen;
  Program random = random_of_test();
  random.run = [&seen](Rank& rank) {
    seen = {rank.parameter<std::int64_t>("first"), rank.parameter<std::int64_t>("cases"),
            rank.parameter<std::int64_t>("seed")};
  };
  const auto result =
      comparison_of({"--random", "--cases", "3", "--seed", "2", "--world", "1"}, {random});
  EXPECT_THAT(seen, testing::ElementsAre(0, 3, 2));
  EXPECT_EQ(result["program"], "random");
  EXPECT_EQ(result["cases"], 3);
  EXPECT_EQ(result["seed"], 2);
  EXPECT_EQ(result["world"], 1);
  EXPECT_EQ(result["backends"], nlohmann::json::parse(R"(["sim", "gloo"])"));
  EXPECT_EQ(result["reproduce"],
            "tool compare --random --cases 3 --world 1 --seed 2 --backend gloo");
  EXPECT_EQ(comparison_of({"--random"}, {random})["cases"], 100) << "unless others are given";
}

TEST_F(CompareCommand, ShardsDivideTheRandomPrograms) {
  std::vector<std::int64_t> firsts;
  Program random = random_of_test();
  random.run = [&firsts](Rank& rank) {
    firsts.push_back(rank.parameter<std::int64_t>("first"));
    for (std::int64_t i = 0; i < rank.parameter<std::int64_t>("cases"); ++i) rank.output("case", i);
  };
  for (const char* shard : {"0/2", "1/2"}) {
    const auto result =
        comparison_of({"--random", "--cases", "5", "--world", "1", "--shard", shard}, {random});
    EXPECT_EQ(result["cases"], 5) << "of all shards";
    EXPECT_EQ(result["outputs"], std::string_view(shard) == "0/2" ? 3 : 2);
  }
  EXPECT_THAT(firsts, testing::ElementsAre(0, 3));
}

TEST_F(CompareCommand, AShardWithoutProgramsAgrees) {
  const auto result =
      comparison_of({"--random", "--cases", "1", "--seed", "5", "--world", "2", "--shard", "1/2"});
  EXPECT_EQ(result["agrees"], true);
  EXPECT_EQ(result["outputs"], 0);
  EXPECT_EQ(result["cases"], 1);
  EXPECT_EQ(result["seed"], 5);
  EXPECT_EQ(result["world"], 2);
  EXPECT_EQ(result["shard"], nlohmann::json::parse(R"({"index": 1, "count": 2})"));
}

// A shard without programs asks nothing of the backend.
TEST_F(CompareCommand, TheUsualSimulatorIsThatOfTheBackend) {
  const auto with = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"--random", "--cases", "1", "--world", "2", "--shard", "1/2"});
    const auto result = comparison_of(options);
    return std::pair<std::string, bool>{
        result["backends"][0],
        result["reproduce"].get<std::string>().find(" --against ") != std::string::npos};
  };
  using Told = std::pair<std::string, bool>;
  EXPECT_EQ(with({"--backend", "nccl"}), (Told{"sim-nccl", false}));
  EXPECT_EQ(with({"--backend", "nccl", "--against", "sim"}), (Told{"sim", true}));
  EXPECT_EQ(with({"--backend", "nccl", "--against", "sim-nccl"}), (Told{"sim-nccl", false}));
  EXPECT_EQ(with({"--against", "sim"}), (Told{"sim", false}));
  EXPECT_EQ(with({"--against", "sim-gloo"}), (Told{"sim-gloo", true}));
}

TEST_F(CompareCommand, OneCaseOfTheFaultsIsThatCase) {
  const auto result = comparison_of(
      {"ring", "--world", "2", "--faults", "exception", "--case", "3", "--timeout", "1s"});
  EXPECT_EQ(result["planned_cases"], 1);
  ASSERT_EQ(result["cases"].size(), 1U);
  EXPECT_EQ(result["cases"][0]["case"], 3);
  EXPECT_EQ(result["reproduce"],
            "tool compare ring --world 2 --seed 1 --backend gloo --timeout 1s --faults "
            "exception --case 3");
}

TEST_F(CompareCommand, AShardOfTheFaultsHasItsCasesOfAll) {
  const auto result = comparison_of({"ring", "--world", "2", "--faults", "exception", "--cases",
                                     "3", "--shard", "1/2", "--quiet"});
  EXPECT_EQ(result["planned_cases"], 3);
  ASSERT_EQ(result["cases"].size(), 1U);
  EXPECT_EQ(result["cases"][0]["case"], 2);
  EXPECT_EQ(result["shard"], nlohmann::json::parse(R"({"index": 1, "count": 2})"));
  EXPECT_EQ(result["timeout_ns"], 2'000'000'000) << "unless another is given";
}

TEST_F(CompareCommand, RandomProgramsCanHaveFaults) {
  const auto result = comparison_of(
      {"--random", "--world", "2", "--faults", "exception", "--cases", "1", "--timeout", "1s"});
  EXPECT_EQ(result["program"], "random");
  EXPECT_EQ(result["reproduce"],
            "tool compare --random --world 2 --seed 1 --backend gloo --timeout 1s --faults "
            "exception --cases 1");
}

TEST_F(CompareCommand, SaysAgainstWhichSimulator) {
  const auto result = comparison_of({"ring", "--world", "2", "--against", "sim-gloo"});
  EXPECT_EQ(result["backends"], nlohmann::json::parse(R"(["sim-gloo", "gloo"])"));
  EXPECT_EQ(result["reproduce"],
            "tool compare ring --world 2 --seed 1 --backend gloo --against sim-gloo");
}

TEST_F(CompareCommand, ADifferenceIsAFinding) {
  const std::string path = temporary("differs.json");
  int runs = 0;
  const Program differs{"differs", "", [&runs](Rank& rank) { rank.output("run", ++runs); }};
  CommandLine command_line{.binary = "tool", .description = "", .programs = {differs}};
  command_line.commands.push_back(make_compare_command([] { return EnvironmentVariables(); }));
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(
      command_line, {"compare", "differs", "--world", "1", "--quiet", "--json", path}, out, err);
  EXPECT_EQ(status, 1) << err.str();
  EXPECT_THAT(out.str(), testing::StartsWith("DIFFER")) << "though quiet";
  const auto result = nlohmann::json::parse(read_file("result", path));
  EXPECT_EQ(result["agrees"], false);
  EXPECT_EQ(result["reproduce"], "tool compare differs --world 1 --seed 1 --backend gloo");
}

TEST_F(CompareCommand, SaysWhatExcludesEachOther) {
  const std::vector<std::vector<std::string>> refused = {
      {"ring", "--against", "gloo"},
      {"ring", "--shard", "0/2"},
      {"ring", "--faults", "kill", "--case", "3", "--shard", "0/2"},
      {"ring", "--json", "/absent/file"}};
  for (std::vector<std::string> arguments : refused) {
    arguments.insert(arguments.begin(), "compare");
    const Answer answer = ask(arguments);
    EXPECT_EQ(answer.status, 2) << arguments.back();
    EXPECT_EQ(answer.out, "");
  }
}

}  // namespace
}  // namespace gang::harness
