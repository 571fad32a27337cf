#include "harness/conductor/rest.h"

#include <poll.h>

#include "tests/harness/conductor/waiting_process.h"

namespace gang::harness {
namespace {

using namespace waiting;  // NOLINT(google-build-using-namespace)

TEST(Rest, IsThatOfThreadsThatWaitForEachOtherAndForUs) {
  if (!why_none_rests().empty()) GTEST_SKIP() << why_none_rests();
  TwoThreads threads(wait_for_lock, [](int socket) {
    make_call(socket);
    for (;;) {
    }
  });
  EXPECT_TRUE(threads.stays_awake());  // it may read something else
  threads.caller().awaits_answer = true;
  EXPECT_TRUE(threads.comes_to_rest());
  EXPECT_EQ(stillness_of(threads.process(), static_cast<pid_t>(threads.caller().hello.thread)),
            Stillness::at_rest);
  threads.process().is_shared = true;
  EXPECT_EQ(stillness_of(threads.process()), Stillness::dozing);
  threads.process().is_shared = false;
  threads.process().has_ended = true;
  EXPECT_FALSE(is_at_rest(threads.process()));
  threads.process().has_ended = false;
  threads.answer();
  EXPECT_TRUE(threads.stays_awake());
}

TEST(Rest, IsThatOfADeadlockOfLocks) {
  if (!why_none_rests().empty()) GTEST_SKIP() << why_none_rests();
  TwoThreads threads(wait_for_lock, [](int) { wait_for_lock(); });
  EXPECT_TRUE(threads.comes_to_rest());
}

TEST(Rest, IsNoneWhereTimeOrSomebodyElseEndsTheWait) {
  EXPECT_TRUE(TwoThreads(wait_for_lock_with_timeout, [](int) { wait_for_lock(); }).stays_awake());
  EXPECT_TRUE(TwoThreads(wait_for_lock, [](int) { wait_for_lock_with_timeout(); }).stays_awake());
  EXPECT_TRUE(TwoThreads([] { ::sem_wait(make_semaphore(true)); }, [](int) { wait_for_lock(); })
                  .stays_awake());
  EXPECT_TRUE(TwoThreads([] { ::pause(); }, [](int) { wait_for_lock(); }).stays_awake());
  EXPECT_TRUE(
      TwoThreads(wait_for_lock, [](int) { std::this_thread::sleep_for(1000s); }).stays_awake());
}

void sleep_long() { std::this_thread::sleep_for(1000s); }

// What a program does that waits for another thread, which has made a call.
TEST(Rest, WhoWaitsForTheCallOfAnotherThreadWithATimeoutDozes) {
  const auto expect = [](Stillness expected, const std::function<void()>& main) {
    TwoThreads threads(main, make_call);
    EXPECT_TRUE(threads.stays_awake());  // the other thread may read something else
    threads.caller().awaits_answer = true;
    EXPECT_TRUE(threads.comes_to(expected));
    // It does not wait for a call of its own.
    EXPECT_EQ(stillness_of(threads.process(), static_cast<pid_t>(threads.caller().hello.thread)),
              Stillness::none);
  };
  expect(Stillness::dozing, wait_for_lock_with_timeout);
  expect(Stillness::dozing, sleep_long);
  expect(Stillness::dozing, [] { std::this_thread::sleep_for(20ms); });
  expect(Stillness::dozing, [] { ::sem_wait(make_semaphore(true)); });
  expect(Stillness::none, [] { ::pause(); });
}

TEST(Rest, WhoCatchesSignalsOfTimersOrChildrenMayBeWokenByThem) {
  for (const int signal : {SIGALRM, SIGCHLD}) {
    TwoThreads threads(
        [signal] {
          ::signal(signal, [](int) {});
          wait_for_lock();
        },
        make_call);
    threads.caller().awaits_answer = true;
    EXPECT_TRUE(threads.comes_to(Stillness::dozing)) << signal;
  }
}

TEST(Rest, WithOtherWaitsOfThreadsThatMakeNoCallsItDozes) {
  TwoThreads threads(wait_for_lock, [](int socket) {
    std::thread([] { ::poll(nullptr, 0, 1000'000); }).detach();
    std::thread(wait_for_lock_with_timeout).detach();
    make_call(socket);
  });
  threads.caller().awaits_answer = true;
  EXPECT_TRUE(threads.comes_to(Stillness::dozing));
}

TEST(Rest, IsNoneOfAProcessThatWorks) {
  EXPECT_TRUE(TwoThreads([] {}, [](int) { wait_for_lock(); }).stays_awake());
  // Two threads that wake each other: one of them works, but each mostly waits when it is looked
  // at.
  static sem_t* const first = make_semaphore();
  static sem_t* const second = make_semaphore();
  const auto work = [] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  const TwoThreads threads(
      [work] {
        work();
        ::sem_post(first);
        ::sem_wait(second);
      },
      [work](int) {
        for (;;) {
          ::sem_wait(first);
          work();
          ::sem_post(second);
        }
      });
  int still = 0;
  for (int look = 0; look < 3000; ++look)
    if (stillness_of(threads.process()) != Stillness::none) ++still;
  EXPECT_EQ(still, 0);
}

TEST(Rest, AWatcherIsNobodyToWaitFor) {
  if (!why_none_rests().empty()) GTEST_SKIP() << why_none_rests();
  TwoThreads threads(wait_for_lock, make_call);
  threads.process().watcher = std::move(threads.process().callers.front());
  threads.process().callers.clear();
  EXPECT_TRUE(threads.comes_to_rest());
}

TEST(Rest, OfAProcessThatIsNotKnownOrGoneIsNone) {
  RankProcess process;
  EXPECT_FALSE(is_at_rest(process));
  process.id = ::fork();
  if (process.id == 0) ::_exit(0);
  ::waitpid(process.id, nullptr, 0);
  EXPECT_FALSE(is_at_rest(process));
}

TEST(Rest, SleepIsUntilATimeThatIsKnown) {
  const auto comes_to_sleep = [](const std::function<void()>& main) {
    const TwoThreads threads(main, [](int) { wait_for_lock(); });
    const auto limit = std::chrono::steady_clock::now() + 500ms;
    while (!sleeps(threads.process(), 0) && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(sleeps(threads.process(),
                        static_cast<pid_t>(threads.process().callers.front()->hello.thread)));
    return sleeps(threads.process(), 0);
  };
  EXPECT_TRUE(comes_to_sleep(sleep_long));
  EXPECT_FALSE(comes_to_sleep(wait_for_lock_with_timeout));
  EXPECT_FALSE(comes_to_sleep([] {}));
}

}  // namespace
}  // namespace gang::harness
