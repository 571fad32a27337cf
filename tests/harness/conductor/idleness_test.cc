#include "harness/conductor/idleness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <thread>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// A process that runs `body` again and again.
class Running {
 public:
  explicit Running(void (*body)()) {
    process_.id = ::fork();
    if (process_.id != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) body();
  }
  ~Running() { end(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  const RankProcess& process() const { return process_; }

  void end() {
    if (process_.id == 0) return;
    ::kill(process_.id, SIGKILL);
    ::waitpid(process_.id, nullptr, 0);
    process_.id = 0;
  }

 private:
  RankProcess process_;
};

// Looks until `seen()`, for at most 20 s.
template <typename Seen>
bool is_seen(Idleness& idleness, const Seen& seen) {
  const auto limit = Idleness::Clock::now() + 20s;
  while (!seen() && Idleness::Clock::now() < limit) {
    std::this_thread::sleep_for(10ms);
    idleness.look(Idleness::Clock::now(), 20ms);
  }
  return seen();
}

TEST(Idleness, IsThatOfAProcessThatWaits) {
  const Running running([] { ::pause(); });
  Idleness idleness(running.process(), 0);
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.without_sleep() >= 300ms; }));
  EXPECT_GE(idleness.in_all(), idleness.without_sleep());
}

TEST(Idleness, OfOneSleepIsIdlenessButNotWithoutSleep) {
  const Running running([] { std::this_thread::sleep_for(1000s); });
  Idleness idleness(running.process(), 0);
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.in_all() >= 300ms; }));
  EXPECT_LT(idleness.without_sleep(), 100ms);
}

TEST(Idleness, OfALoopThatLooksAndSleepsIsTheSame) {
  const Running running([] {
    static_cast<void>(::access("/tmp/gangsim-never-made", F_OK));
    std::this_thread::sleep_for(10ms);
  });
  Idleness idleness(running.process(), 0);
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.in_all() >= 1s; }));
  EXPECT_LT(idleness.without_sleep(), 500ms);
}

// 3 % of a processor is what an idle interpreter may take.
TEST(Idleness, IsThatOfAProcessThatWorksALittle) {
  const Running running([] {
    std::this_thread::sleep_for(32ms);
    const auto end = Idleness::Clock::now() + 1ms;
    while (Idleness::Clock::now() < end) continue;
  });
  Idleness idleness(running.process(), 0);
  const auto begun = Idleness::Clock::now();
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.in_all() >= 900ms; }));
  EXPECT_LT(Idleness::Clock::now() - begun, 10s);
}

TEST(Idleness, IsNotThatOfOneThatComputes) {
  const Running running([] {});
  Idleness idleness(running.process(), 0);
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(10ms);
    idleness.look(Idleness::Clock::now(), 20ms);
    EXPECT_LT(idleness.in_all(), 200ms);
  }
}

TEST(Idleness, EndsWithWork) {
  Running running([] {
    std::this_thread::sleep_for(500ms);
    const auto end = Idleness::Clock::now() + 500ms;
    while (Idleness::Clock::now() < end) continue;
  });
  Idleness idleness(running.process(), 0);
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.in_all() >= 200ms; }));
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.in_all() == 0ms; }));
}

TEST(Idleness, OfAProcessThatIsNotKnownIsNone) {
  const RankProcess process;
  Idleness idleness(process, 0);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(25ms);
    idleness.look(Idleness::Clock::now(), 20ms);
    EXPECT_EQ(idleness.in_all(), 0ms);
  }
}

TEST(Idleness, IsLookedForOnlyAsOftenAsIsSaid) {
  const Running running([] { ::pause(); });
  Idleness idleness(running.process(), 0);
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.in_all() > 0ms; }));
  const auto now = Idleness::Clock::now();
  idleness.look(now + 2s, 500ms);
  const Duration idle = idleness.in_all();
  idleness.look(now + 2400ms, 500ms);
  EXPECT_EQ(idleness.in_all(), idle);
  idleness.look(now + 2500ms, 500ms);
  EXPECT_GT(idleness.in_all(), idle);
}

// As when the machine was suspended.
TEST(Idleness, DoesNotGrowWhileNobodyLooks) {
  const Running running([] { ::pause(); });
  Idleness idleness(running.process(), 0);
  EXPECT_TRUE(is_seen(idleness, [&] { return idleness.without_sleep() > 0ms; }));
  const Duration in_all = idleness.in_all();
  const Duration without_sleep = idleness.without_sleep();
  idleness.look(Idleness::Clock::now() + 100s, 100ms);
  EXPECT_EQ(idleness.in_all(), in_all + 1500ms);
  EXPECT_EQ(idleness.without_sleep(), without_sleep + 1500ms);
}

// A tenth of a processor is work, even if it is never seen to run.
TEST(Idleness, IsNotThatOfOneThatOftenWorks) {
  const Running running([] {
    std::this_thread::sleep_for(45ms);
    const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 200;  // of its own time
    while (std::clock() < end) continue;
  });
  Idleness idleness(running.process(), 0);
  Duration longest{0};
  for (int i = 0; i < 15; ++i) {
    std::this_thread::sleep_for(200ms);
    idleness.look(Idleness::Clock::now(), 100ms);
    longest = std::max(longest, idleness.in_all());
  }
  EXPECT_LT(longest, 1500ms);
}

}  // namespace
}  // namespace gang::harness
