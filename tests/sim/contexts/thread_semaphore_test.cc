#include "sim/contexts/thread_semaphore.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using std::chrono_literals::operator""ms;

TEST(ThreadSemaphore, CountsReleasesThatNobodyWaitsFor) {
  ThreadSemaphore semaphore;
  for (int i = 0; i < 3; ++i) semaphore.release();
  for (int i = 0; i < 3; ++i) semaphore.acquire();
}

TEST(ThreadSemaphore, HandsTheTurnToAndFro) {
  ThreadSemaphore here;
  ThreadSemaphore there;
  int turns = 0;  // by whoever has the turn
  std::jthread other([&] {
    for (int i = 0; i < 1000; ++i) {
      there.acquire();
      EXPECT_EQ(turns++, 2 * i + 1);
      here.release();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(turns++, 2 * i);
    there.release();
    here.acquire();
  }
}

TEST(ThreadSemaphore, ASignalDoesNotEndTheWait) {
  struct sigaction former{};
  struct sigaction ignoring{};
  ignoring.sa_handler = [](int) {};  // without SA_RESTART: sem_wait fails with EINTR
  ASSERT_EQ(::sigaction(SIGUSR2, &ignoring, &former), 0);
  ThreadSemaphore semaphore;
  std::atomic<bool> is_over = false;
  std::jthread waiting([&] {
    semaphore.acquire();
    is_over = true;
  });
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(5ms);
    ::pthread_kill(waiting.native_handle(), SIGUSR2);
  }
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(is_over);
  semaphore.release();
  waiting.join();
  EXPECT_TRUE(is_over);
  ::sigaction(SIGUSR2, &former, nullptr);
}

}  // namespace
}  // namespace gang::sim
