#include "harness/conductor/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// How waitpid says that a process ended.
int status_of(void (*end)()) {
  const pid_t process = ::fork();
  if (process == 0) {
    end();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  return status;
}

TEST(ConductedProcess, SaysWhatItDiedOf) {
  RankProcess process;
  EXPECT_FALSE(death_of(process));  // not known
  process.wait_status = status_of([] {});
  EXPECT_FALSE(death_of(process));
  process.wait_status = status_of([] { ::_exit(3); });
  EXPECT_EQ(death_of(process)->full_text(), "exited with status 3");
  process.wait_status = status_of([] { ::raise(SIGKILL); });
  EXPECT_EQ(death_of(process)->full_text(), "was killed by signal 9 (Killed)");
}

TEST(ConductedProcess, SleepsInACallThatWaitsForNothingElse) {
  EXPECT_TRUE(is_sleep(SYS_nanosleep, 0x7f00));
  EXPECT_TRUE(is_sleep(SYS_clock_nanosleep, 1));
  EXPECT_TRUE(is_sleep(SYS_pselect6, 0));
  EXPECT_FALSE(is_sleep(SYS_pselect6, 4));  // for descriptors
  EXPECT_FALSE(is_sleep(SYS_futex, 0));
}

TEST(ConductedProcess, SaysAFinding) {
  FindingMessage message{.id = "thread_failed", .message = "It ended.", .ranks = {1, 3}};
  EXPECT_EQ(finding_of(message).location, SourceLocation{});
  message.call_site = CallSite::in_function("train.py\0load", 7);
  const sim::Finding finding = finding_of(message);
  EXPECT_EQ(finding.id, "thread_failed");
  EXPECT_EQ(finding.message, "It ended.");
  EXPECT_THAT(finding.ranks, testing::ElementsAre(1, 3));
  EXPECT_EQ(to_string(finding.location), "train.py:7");
}

TEST(ConductedProcess, KnowsWhetherAThreadHasNotBeenServed) {
  RankProcess process;
  EXPECT_FALSE(process.has_new_caller());
  process.callers.push_back(std::make_unique<Caller>(Descriptor()));
  EXPECT_TRUE(process.has_new_caller());
  process.callers.back()->is_served = true;
  EXPECT_FALSE(process.has_new_caller());
}

// Runs `body` on a thread until `seen` is true of what that thread uses.
template <typename Body, typename Seen>
bool is_seen(const Body& body, const Seen& seen) {
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> is_over = false;
  const std::jthread worker([&] {
    thread = static_cast<pid_t>(::syscall(SYS_gettid));
    while (!is_over) body();
  });
  while (thread == 0) std::this_thread::yield();
  const auto limit = std::chrono::steady_clock::now() + 10s;
  bool was_seen = false;
  while (!was_seen && std::chrono::steady_clock::now() < limit) {
    const std::optional<ProcessorUse> use = processor_use(::getpid(), thread);
    was_seen = use && seen(*use);
  }
  is_over = true;
  return was_seen;
}

TEST(ProcessorUse, CountsTheTicksOfAThreadThatWorks) {
  EXPECT_TRUE(is_seen([] {}, [](const ProcessorUse& use) { return use.ticks >= 3; }));
}

TEST(ProcessorUse, KnowsAThreadThatSleeps) {
  EXPECT_TRUE(is_seen([] { std::this_thread::sleep_for(50ms); },
                      [](const ProcessorUse& use) { return use.is_sleeping; }));
}

// As time.sleep of Python 3.9 and 3.10 does.
TEST(ProcessorUse, KnowsAThreadThatSleepsInASelectOfNothing) {
  const auto is_asleep = [](const ProcessorUse& use) { return use.is_sleeping; };
  EXPECT_TRUE(is_seen(
      [] {
        timeval time{.tv_sec = 0, .tv_usec = 50'000};
        ::select(0, nullptr, nullptr, nullptr, &time);
      },
      is_asleep));
}

TEST(ProcessorUse, IsThatOfAllThreadsWithoutOne) {
  const auto own = processor_use(::getpid());
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->is_sleeping);
}

TEST(ProcessorUse, IsThatOfTheProcessesThatItHasStartedToo) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t own = ::getpid();
    if (::fork() == 0) {
      while (::getppid() == own) continue;  // works as long as its parent lives
      ::_exit(0);
    }
    ::pause();
  }
  bool was_seen = false;
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (!was_seen && std::chrono::steady_clock::now() < limit) {
    const std::optional<ProcessorUse> use = processor_use(parent);
    was_seen = use && use->is_busy && use->ticks >= 3;
  }
  EXPECT_TRUE(was_seen);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
}

TEST(ProcessorUse, OfAProcessThatIsGoneIsUnknown) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(0);
  ::waitpid(process, nullptr, 0);
  EXPECT_FALSE(processor_use(process));
}

TEST(ProcessorUse, AThreadMayHaveAnyName) {
  EXPECT_TRUE(is_seen([] { ::prctl(PR_SET_NAME, "a) S b"); },
                      [](const ProcessorUse& use) { return use.is_busy; }));
}

TEST(ProcessorUse, CountsTheTicksInTheKernel) {
  const Descriptor zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::vector<char> bytes(1 << 20);
  EXPECT_TRUE(is_seen([&] { return ::read(zeros.get(), bytes.data(), bytes.size()); },
                      [](const ProcessorUse& use) { return use.ticks >= 50; }));
}

}  // namespace
}  // namespace gang::harness
