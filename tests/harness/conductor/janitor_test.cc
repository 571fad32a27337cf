#include "harness/conductor/janitor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

class JanitorTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(gang::test::temporary_directory()) / "remains";
    fs::create_directory(folder_);
    std::ofstream(folder_ / "socket") << "x";
  }
  void TearDown() override {
    for (const pid_t sleeper : sleepers_) {
      ::kill(sleeper, SIGKILL);
      ::waitpid(sleeper, nullptr, 0);
    }
    fs::remove_all(folder_);
  }

  pid_t start_sleeper() {
    const pid_t process = ::fork();
    if (process == 0)
      for (;;) ::pause();
    sleepers_.push_back(process);
    return process;
  }

  // Runs `live` in a process of its own, to its end, however that comes.
  static void run_owner(const std::function<void()>& live) {
    const pid_t owner = ::fork();
    if (owner == 0) {
      live();
      ::_exit(0);
    }
    ::waitpid(owner, nullptr, 0);
  }

  static bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  }
  // A process of ours that has ended is there until we have waited for it.
  static bool has_ended(pid_t process) {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid == process;
  }

  fs::path folder_;
  std::vector<pid_t> sleepers_;
};

TEST_F(JanitorTest, CleansUpAfterAnyEnd) {
  for (const int signal : {SIGTERM, SIGINT, SIGKILL, 0}) {
    SetUp();
    const pid_t sleeper = start_sleeper();
    const pid_t spared = start_sleeper();
    run_owner([&] {
      const Janitor janitor(folder_);
      janitor.add(sleeper);
      janitor.add(spared);
      janitor.remove(spared);
      if (signal != 0) ::raise(signal);
      ::_exit(1);  // no destructor runs
    });
    EXPECT_TRUE(comes_true([&] { return has_ended(sleeper); })) << signal;
    EXPECT_TRUE(comes_true([&] { return !fs::exists(folder_); })) << signal;
    EXPECT_FALSE(has_ended(spared)) << signal;
  }
}

TEST_F(JanitorTest, KillsWhatHasTheMark) {
  const pid_t marked = ::fork();
  if (marked == 0) {
    ::setenv("GANGSIM_TEST_MARK", "of a janitor", 1);
    ::execlp("sleep", "sleep", "1000", nullptr);
    ::_exit(127);
  }
  sleepers_.push_back(marked);
  while (read_file("name", fmt::format("/proc/{}/comm", marked)) != "sleep\n")
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  run_owner([&] {
    const Janitor janitor(folder_, "GANGSIM_TEST_MARK=of a janitor");
    ::raise(SIGKILL);
  });
  EXPECT_TRUE(comes_true([&] { return has_ended(marked); }));
  EXPECT_TRUE(comes_true([&] { return !fs::exists(folder_); }));  // the next test has the same
}

TEST_F(JanitorTest, LeavesEverythingToAnOwnerThatEndsWell) {
  const pid_t sleeper = start_sleeper();
  run_owner([&] {
    const Janitor janitor(folder_);
    janitor.add(sleeper);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_ended(sleeper));
  EXPECT_TRUE(fs::exists(folder_ / "socket"));
}

// Whoever reads the output of a command waits until nobody can write to it.
TEST_F(JanitorTest, KeepsNothingOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Janitor janitor(folder_);
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace gang::harness
