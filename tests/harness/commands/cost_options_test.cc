#include "harness/commands/cost_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/text/output_file.h"
#include "tests/harness/commands/commands_testing.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

TEST(CostOptions, PrintTheCostAfterTheRun) {
  const Answer answer = ask({"run", "mesh", "--world", "16", "--set", "tp=2", "--cost",
                             "--ranks-per-node", "4", "--intra-link", "1us:100GB/s"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("Cost of a step: mesh, world 16, 1 step\n"));
  EXPECT_THAT(answer.out, HasSubstr("  tp           2 intra all_reduce            1        8 B"));
  EXPECT_THAT(answer.out, HasSubstr("  dp           8 inter all_reduce            1        8 B"));
  EXPECT_THAT(answer.out, HasSubstr("1us:100GB/s within 4 consecutive ranks, else 8us:50GB/s"));
}

TEST(CostOptions, WriteJson) {
  const std::string path = temporary("cost.json");
  const Answer answer =
      ask({"run", "ring", "--world", "4", "--set", "iterations=3", "--cost-json", path});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, testing::Not(HasSubstr("Cost of a step")));
  const auto json = nlohmann::json::parse(read_file("file", path));
  EXPECT_EQ(json["program"], "ring");
  EXPECT_EQ(json["all_ranks"]["calls"], 24);
}

TEST(CostOptions, SayWhatIsAccepted) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--cost", "--intra-link", "fast"}, "expected LATENCY:BANDWIDTH"},
      {{"--cost", "--inter-link", "1us"}, "expected LATENCY:BANDWIDTH"},
      {{"--cost", "--ranks-per-node", "0"}, "--ranks-per-node"},
      {{"--cost-json", "/nowhere/cost.json"}, "--cost-json"}};
  for (const auto& [options, expected] : refused) {
    std::vector<std::string> arguments{"run", "ring"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Answer answer = ask(arguments);
    EXPECT_EQ(answer.status, 2) << options.back();
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, HasSubstr(expected));
  }
}

nlohmann::json cost_of(std::vector<std::string> arguments) {
  const std::string path = temporary("cost_of.json");
  arguments.insert(arguments.end(), {"--cost-json", path});
  EXPECT_EQ(ask(arguments).status, 0);
  return nlohmann::json::parse(read_file("file", path));
}

TEST(CostOptions, TheModelIsWhatIsGiven) {
  const auto cost = cost_of({"run", "ring", "--world", "4", "--ranks-per-node", "2", "--intra-link",
                             "1us:100GB/s", "--inter-link", "3us:10GB/s"});
  EXPECT_EQ(cost["model"], nlohmann::json::parse(
                               R"({"ranks_per_node": 2,
           "intra_node": {"latency_seconds": 1e-06, "bytes_per_second": 100000000000.0},
           "inter_node": {"latency_seconds": 3e-06, "bytes_per_second": 10000000000.0}})"));
}

TEST(CostOptions, AStepIsOneOfTheProgramOrTheWholeRun) {
  const auto steps = cost_of({"run", "data_parallel_step", "--world", "2", "--set", "steps=4"});
  EXPECT_EQ(steps["steps"], 4);
  EXPECT_EQ(cost_of({"run", "data_parallel_step", "--world", "2"})["steps"], 2);
  EXPECT_EQ(cost_of({"run", "ring", "--world", "2"})["steps"], 1);
}

}  // namespace
}  // namespace gang::harness
