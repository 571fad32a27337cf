#include "harness/conductor/offspring.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;

// The number of a process that a shell starts and leaves behind. `prefix`: words before it.
pid_t left_behind(const std::string& prefix) {
  static int files = 0;
  const std::string file = fmt::format("{}left-{}", gang::test::temporary_directory(), files++);
  const std::string command =
      fmt::format("{} sh -c 'echo $$ > {}.new; mv {}.new {}; exec sleep 1000' > /dev/null 2>&1 &",
                  prefix, file, file, file);
  EXPECT_EQ(std::system(command.c_str()), 0);
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(5ms);
  return std::stoi(read_file("file", file));
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0; }

TEST(Offspring, EndsWithItWhateverItsEnvironmentIs) {
  for (const char* prefix :
       {"", "setsid", "env -i /usr/bin/setsid", "GANGSIM_TEST_MARK=a setsid"}) {
    std::optional<Offspring> offspring("GANGSIM_TEST_MARK=a");
    const pid_t process = left_behind(prefix);
    EXPECT_TRUE(is_alive(process));
    offspring.reset();
    EXPECT_FALSE(is_alive(process)) << prefix;
  }
}

TEST(Offspring, IsWhatCameAfterIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  {
    const Offspring offspring("");
  }
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Offspring, IsKilledByItsMarkAlone) {
  const Offspring adopts("");  // so that it does not stay a zombie of somebody else
  const pid_t marked = left_behind("GANGSIM_TEST_MARK=b setsid");
  const pid_t other = left_behind("GANGSIM_TEST_MARK=bb setsid");
  kill_marked("");
  EXPECT_TRUE(is_alive(marked));
  kill_marked("GANGSIM_TEST_MARK=b");
  ::waitpid(marked, nullptr, 0);
  EXPECT_FALSE(is_alive(marked));
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0);  // a dead one is alive until it is waited for
}

TEST(Offspring, IsAdoptedOnlyAsLongAsItLives) {
  const auto is_reaper = [] {
    int value = 0;
    ::prctl(PR_GET_CHILD_SUBREAPER, &value);
    return value != 0;
  };
  EXPECT_FALSE(is_reaper());
  {
    const Offspring offspring("");
    EXPECT_TRUE(is_reaper());
    {
      const Offspring inner("");
    }
    EXPECT_TRUE(is_reaper());
  }
  EXPECT_FALSE(is_reaper());
}

}  // namespace
}  // namespace gang::harness
