#include "harness/conductor/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

// How a process ends that calls `program` in the place of this one.
template <typename Program>
int wait_status_of(const Program& program) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(program());
  int status = 0;
  ::waitpid(process, &status, 0);
  return status;
}

TEST(Interrupt, TheFirstOneIsNoted) {
  const int status = wait_status_of([] {
    std::signal(SIGINT, SIG_DFL);
    const Interrupt interrupt;
    const bool had_come = Interrupt::has_come();
    ::raise(SIGINT);
    return !had_come && Interrupt::has_come() ? 5 : 6;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(Interrupt, EndsAWaitThatChecks) {
  EXPECT_NO_THROW(Interrupt::check("ranks"));
  const int status = wait_status_of([] {
    std::signal(SIGINT, SIG_DFL);
    const Interrupt interrupt;
    ::raise(SIGINT);
    try {
      Interrupt::check("ranks");
    } catch (const Interrupted& interrupted) {
      return interrupted.what() == std::string("ranks") ? 5 : 6;
    }
    return 7;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(Interrupt, TheSecondOneEndsTheProcess) {
  const int status = wait_status_of([] {
    std::signal(SIGINT, SIG_DFL);
    const Interrupt interrupt;
    ::raise(SIGINT);
    ::raise(SIGINT);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(Interrupt, AfterwardsItIsAsBefore) {
  const int status = wait_status_of([] {
    std::signal(SIGINT, SIG_DFL);
    {
      const Interrupt interrupt;
    }
    ::raise(SIGINT);
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(Interrupt, IsNotForAProcessThatIgnoresIt) {
  const int status = wait_status_of([] {
    std::signal(SIGINT, SIG_IGN);
    const Interrupt interrupt;
    ::raise(SIGINT);
    return Interrupt::has_come() ? 6 : 5;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

}  // namespace
}  // namespace gang::harness
