#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/temporary_directory.h"
#include "tools/commands/commands.h"

namespace gang::tools {
namespace {

TEST(BenchCommand, ChecksItsFileBeforeItMeasures) {
  harness::CommandLine command_line{.binary = "gangsim", .description = ""};
  command_line.commands.push_back(make_bench_command());
  std::ostringstream out;
  std::ostringstream err;
  const int status =
      run_command_line(command_line, {"bench", "--json", "/absent/bench.json"}, out, err);
  EXPECT_EQ(status, harness::exit_status::bad_input);
  EXPECT_EQ(out.str(), "");
  EXPECT_NE(err.str().find("--json /absent/bench.json: cannot be written"), std::string::npos);
}

TEST(BenchCommand, RefusesAFilterThatSelectsNothing) {
  harness::CommandLine command_line{.binary = "gangsim", .description = ""};
  command_line.commands.push_back(make_bench_command());
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run_command_line(command_line, {"bench", "--filter", "glue"}, out, err),
            harness::exit_status::bad_input);
  EXPECT_NE(err.str().find("--filter 'glue' matches no line of the table"), std::string::npos);
}

// The command on a table of lines that hold, miss their bar, or are undecided.
struct Benched {
  int status = 0;
  std::string out;
};

Benched bench(const std::vector<std::optional<bool>>& verdicts,
              std::vector<std::string> arguments = {}) {
  harness::CommandLine command_line{.binary = "gangsim", .description = ""};
  command_line.commands.push_back(make_bench_command([&verdicts](Thoroughness thoroughness) {
    std::vector<Benchmark> table;
    for (const std::optional<bool>& holds : verdicts)
      table.push_back({thoroughness == Thoroughness::quick ? "quick" : "full", [holds] {
                         return Measurement{.bar = "1 s", .measured = "2 s", .holds = holds};
                       }});
    return table;
  }));
  arguments.insert(arguments.begin(), "bench");
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(command_line, arguments, out, err);
  return {status, out.str()};
}

TEST(BenchCommand, FindsSomethingIfAnyLineMissesItsBar) {
  EXPECT_EQ(bench({true, true}).status, harness::exit_status::holds);
  EXPECT_EQ(bench({false, true}).status, harness::exit_status::finding);
  EXPECT_EQ(bench({true, false}).status, harness::exit_status::finding);
  EXPECT_EQ(bench({true, std::nullopt}).status, harness::exit_status::holds);
}

TEST(BenchCommand, SaysOfEachLineWhetherItHolds) {
  const auto has = [](const Benched& benched, std::string_view word) {
    return benched.out.find(word) != std::string::npos;
  };
  EXPECT_TRUE(has(bench({true}), "holds"));
  EXPECT_TRUE(has(bench({false}), "missed"));
  EXPECT_FALSE(has(bench({std::nullopt}), "holds") || has(bench({std::nullopt}), "missed"));
  EXPECT_TRUE(has(bench({true}), "full"));
  EXPECT_TRUE(has(bench({true}, {"--quick"}), "quick"));
}

// The command on two lines: one with details that holds, one that is undecided.
Benched bench_two_lines(std::vector<std::string> arguments) {
  harness::CommandLine command_line{.binary = "gangsim", .description = ""};
  command_line.commands.push_back(make_bench_command([](Thoroughness thoroughness) {
    EXPECT_EQ(thoroughness, Thoroughness::full);
    return std::vector<Benchmark>{
        {"a walk",
         [] {
           return Measurement{.bar = "1 s", .measured = "2 s", .holds = true, .details = "uphill"};
         }},
        {"a run", [] { return Measurement{.bar = "3 s", .measured = "no shoes", .holds = {}}; }}};
  }));
  arguments.insert(arguments.begin(), "bench");
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_command_line(command_line, arguments, out, err);
  return {status, out.str()};
}

TEST(BenchCommand, ALineHasItsBarThenWhatWasMeasuredThenItsDetails) {
  const std::string out = bench_two_lines({}).out;
  const std::size_t walk = out.find("a walk ");
  const std::size_t bar = out.find("1 s ", walk);
  const std::size_t measured = out.find("2 s ", bar);
  const std::size_t details = out.find("uphill\n", measured);
  const std::size_t run = out.find("a run ", details);
  EXPECT_LT(out.find("no shoes", run), out.size());
}

TEST(BenchCommand, MeasuresTheLinesOfTheFilterOnly) {
  const std::string out = bench_two_lines({"--filter", "run"}).out;
  EXPECT_THAT(out, testing::HasSubstr("a run"));
  EXPECT_THAT(out, testing::Not(testing::HasSubstr("a walk")));
}

TEST(BenchCommand, WritesTheLinesAsJson) {
  const std::string path = test::temporary_directory() + "bench.json";
  bench_two_lines({"--json", path});
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json.at("format"), "gangsim benchmarks");
  EXPECT_EQ(json.at("version"), 1);
  const nlohmann::json walk = {{"work", "a walk"},
                               {"bar", "1 s"},
                               {"measured", "2 s"},
                               {"details", "uphill"},
                               {"holds", true}};
  const nlohmann::json run = {{"work", "a run"},
                              {"bar", "3 s"},
                              {"measured", "no shoes"},
                              {"details", ""},
                              {"holds", nullptr}};
  EXPECT_EQ(json.at("lines"), nlohmann::json::array({walk, run}));
}

}  // namespace
}  // namespace gang::tools
