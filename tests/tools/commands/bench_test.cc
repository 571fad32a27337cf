#include <sstream>

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

}  // namespace
}  // namespace gang::tools
