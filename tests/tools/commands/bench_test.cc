#include "tools/commands/bench.h"

#include <sstream>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gang::tools
