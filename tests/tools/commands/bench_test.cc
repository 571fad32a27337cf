#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gang::tools
