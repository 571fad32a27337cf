#include "harness/conductor/silent_threads.h"

#include <atomic>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/harness/conductor/waiting_process.h"

namespace gang::harness {
namespace {

using namespace waiting;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

// How many of the process's threads have still not called, once they are left to themselves.
// `caller` calls.
std::uint32_t settle(SilentThreads& silent, pid_t caller,
                     const std::vector<std::uint32_t>& threads) {
  std::uint32_t left = 0;
  sim::Simulation({.world_size = 1}).run([&](sim::SimulatedRank& rank) {
    left = silent.settle(rank, caller, threads);
  });
  return left;
}

// The thread other than the main one, which has not called.
class Silent {
 public:
  Silent(
      const std::function<void(int socket)>& program, TurnOptions options,
      const std::function<void()>& main = [] { ::pause(); })
      : threads_(main, program),
        id_(threads_.caller().hello.thread),
        turns_(poller_, options),
        silent_(threads_.process(), turns_) {
    caller_ = std::move(threads_.process().callers.front());
    threads_.process().callers.clear();
  }

  std::uint32_t settle() { return harness::settle(silent_, threads_.process().id, {id_}); }
  // It says hello.
  void call() { threads_.process().callers.push_back(std::move(caller_)); }

  Poller& poller() { return poller_; }
  TwoThreads& threads() { return threads_; }
  std::uint32_t id() const { return id_; }

 private:
  TwoThreads threads_;
  std::uint32_t id_;
  Poller poller_;
  Turns turns_;
  SilentThreads silent_;
  std::unique_ptr<Caller> caller_;
};

constexpr TurnOptions patient{.patience = 1000s};

TEST(SilentThreads, AreWaitedForUntilTheyWait) {
  const auto begin = Clock::now();
  Silent silent(
      [](int) {
        work_for(200ms);
        for (;;) wait_for_lock();
      },
      patient);
  EXPECT_EQ(silent.settle(), 1U);
  EXPECT_GE(Clock::now() - begin, 150ms);
  EXPECT_EQ(look_at(silent.threads().process(), static_cast<pid_t>(silent.id())).activity,
            Activity::waits);
}

TEST(SilentThreads, MayWaitForWhatever) {
  for (const auto wait : {+[](int) { wait_for_lock_with_timeout(); },
                          +[](int) { std::this_thread::sleep_for(1000s); },
                          +[](int socket) { make_call(socket); }, +[](int) { ::pause(); }}) {
    Silent silent(
        [wait](int socket) {
          for (;;) wait(socket);
        },
        {.patience = 20s});
    EXPECT_EQ(silent.settle(), 1U);
  }
}

TEST(SilentThreads, ThatHaveEndedOrCalledAreNotLeft) {
  Silent ending([](int) { work_for(100ms); }, patient);
  EXPECT_EQ(ending.settle(), 0U);
  Silent calling([](int) { work_for(1000s); }, patient);
  calling.call();
  EXPECT_EQ(calling.settle(), 0U);
}

// What it sends is heard meanwhile, and the next look finds that it has called.
TEST(SilentThreads, MayCallMeanwhile) {
  Silent silent(
      [](int socket) {
        work_for(100ms);
        static_cast<void>(::write(socket, "", 1));
        make_call(socket);
      },
      patient);
  const int socket = silent.threads().socket();
  silent.poller().add(socket, [&] {
    silent.poller().remove(socket);
    silent.call();
  });
  EXPECT_EQ(silent.settle(), 0U);
}

TEST(SilentThreads, AreWaitedForEachTime) {
  Silent silent(
      [](int socket) {
        for (;;) {
          make_call(socket);
          work_for(200ms);
        }
      },
      patient);
  EXPECT_EQ(silent.settle(), 1U);
  const auto begin = Clock::now();
  silent.threads().answer();
  EXPECT_EQ(silent.settle(), 1U);
  EXPECT_GE(Clock::now() - begin, 150ms);
}

// It waits for its welcome, and it takes more than one event to hear all of its hello.
TEST(SilentThreads, AreHeardToTheEnd) {
  Silent silent(
      [](int socket) {
        static_cast<void>(::write(socket, "12", 2));
        make_call(socket);
      },
      patient);
  const int socket = silent.threads().socket();
  int events = 0;
  silent.poller().add(socket, [&] {
    char byte = 0;
    EXPECT_EQ(::read(socket, &byte, 1), 1);
    if (++events < 2) return;
    silent.poller().remove(socket);
    silent.call();
  });
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(silent.settle(), 0U);
}

TEST(SilentThreads, MayWaitForWhatTheCallerHolds) {
  const auto begin = Clock::now();
  Silent silent(
      [](int) {
        for (;;) wait_for_lock();
      },
      patient,
      [] {
        work_for(200ms);
        ::pause();
      });
  EXPECT_EQ(silent.settle(), 1U);
  EXPECT_GE(Clock::now() - begin, 150ms);
}

// In all, not each time.
TEST(SilentThreads, ThatAlwaysWorkAreWaitedForNoMore) {
  Silent silent([](int) { work_for(1000s); }, {.patience = 100ms});
  const auto begin = Clock::now();
  EXPECT_EQ(silent.settle(), 1U);
  EXPECT_GE(Clock::now() - begin, 100ms);
  const auto end = Clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(silent.settle(), 1U);
  EXPECT_LT(Clock::now() - end, 1s);
}

TEST(SilentThreads, AnInterruptEndsTheWait) {
  const std::atomic<bool> interrupt = true;
  TurnOptions options = patient;
  options.interrupt = &interrupt;
  Silent silent([](int) { work_for(1000s); }, options);
  EXPECT_EQ(silent.settle(), 1U);
}

TEST(SilentThreads, NoneIsSettledAtOnce) {
  Silent silent([](int) { work_for(1000s); }, patient);
  Poller poller;
  Turns turns(poller, patient);
  SilentThreads none(silent.threads().process(), turns);
  EXPECT_EQ(settle(none, silent.threads().process().id, {}), 0U);
}

}  // namespace
}  // namespace gang::harness
