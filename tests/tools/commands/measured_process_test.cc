#include "tools/commands/measured_process.h"

#include <signal.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>
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

TEST(RunMeasured, SaysWhyAProgramCannotBeStarted) {
  errno = 0;
  EXPECT_THAT([] { run_measured({"/absent/program"}); },
              testing::ThrowsMessage<NotSupported>(
                  "cannot run /absent/program: No such file or directory"));
}

TEST(RunMeasured, ReturnsAllOfALongOutput) {
  const std::string output = run_measured({"sh", "-c", "seq 10000 29999"}).output;
  EXPECT_EQ(output.size(), 20'000U * 6);
  EXPECT_TRUE(output.starts_with("10000\n") && output.ends_with("29999\n"));
}

TEST(RunMeasured, LeavesNoDescriptorOpen) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 3; ++i) run_measured({"true"});
  EXPECT_THROW(run_measured({"/absent/program"}), NotSupported);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(RunMeasured, DoesNotWaitForWhatWritesElsewhere) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run_measured({"sh", "-c", "sleep 3 >/dev/null 2>&1 & echo out"}).output, "out\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

// While it lives, a signal interrupts the calling process every 10 ms.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &before_);
    set_timer(10'000);
  }
  ~Interruptions() {
    set_timer(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void set_timer(int microseconds) {
    const itimerval timer{.it_interval = {.tv_sec = 0, .tv_usec = microseconds},
                          .it_value = {.tv_sec = 0, .tv_usec = microseconds}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_{};
};

TEST(RunMeasured, IsNotInterruptedBySignals) {
  const Interruptions interruptions;
  const MeasuredProcess process =
      run_measured({"sh", "-c", "sleep 0.2; echo out; exec >&-; sleep 0.2"});
  EXPECT_EQ(process.output, "out\n");
  EXPECT_EQ(process.exit_status, 0);
}

TEST(RunChecked, RefusesAProcessThatFails) {
  EXPECT_EQ(run_checked({"echo", "out"}).output, "out\n");
  EXPECT_THAT([] { run_checked({"sh", "-c", "exit 3"}); },
              testing::ThrowsMessage<NotSupported>("'sh -c exit 3' ended with exit status 3"));
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
