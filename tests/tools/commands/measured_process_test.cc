#include "tools/commands/measured_process.h"

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::tools {
namespace {

TEST(RunMeasured, ReturnsOutputStatusAndPeakMemory) {
  const MeasuredProcess process = run_measured({"sh", "-c", "echo out; exit 3"});
  EXPECT_EQ(process.output, "out\n");
  EXPECT_EQ(process.exit_status, 3);
  EXPECT_GT(process.peak_bytes, 100'000U);
  EXPECT_EQ(process.peak_bytes % 4096, 0U) << "memory comes in pages";
}

TEST(RunMeasured, GivesTheSignalThatKilled) {
  EXPECT_EQ(run_measured({"sh", "-c", "kill -9 $$"}).exit_status, 128 + 9);
}

TEST(RunMeasured, RefusesWhatCannotBeStarted) {
  EXPECT_THROW(run_measured({"/absent/program"}), NotSupported);
}

TEST(FindExecutable, LooksThroughTheDirectoriesInOrder) {
  EXPECT_EQ(find_executable("sh", "/absent:/bin:/usr/bin"), "/bin/sh");
  EXPECT_EQ(find_executable("no-such-program", "/bin"), std::nullopt);
  EXPECT_EQ(find_executable("sh", ""), std::nullopt);
  EXPECT_EQ(find_executable("passwd", "/etc"), std::nullopt) << "is a file, but not a program";
}

TEST(ExecutableDirectory, HoldsThisTest) {
  EXPECT_TRUE(find_executable("tools_tests", executable_directory()));
}

}  // namespace
}  // namespace gang::tools
