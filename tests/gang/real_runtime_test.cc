#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "gang/runtime.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class RealRuntime : public testing::Test {
 protected:
  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
};

TEST_F(RealRuntime, TimeBeginsAtZeroAndPasses) {
  const TimePoint first = runtime_->now();
  EXPECT_GE(first, TimePoint::zero());
  EXPECT_LT(first, TimePoint(1s));
  runtime_->sleep_for(2ms);
  EXPECT_GE(runtime_->now() - first, Duration(2ms));
}

TEST_F(RealRuntime, SleepingForNothingYields) {
  runtime_->sleep_for(Duration::zero());
  runtime_->yield();
}

TEST_F(RealRuntime, AThreadRunsItsBodyOnce) {
  std::atomic<int> runs = 0;
  const auto thread = runtime_->start_thread("counter", [&runs] { ++runs; });
  thread->join();
  thread->join();
  EXPECT_EQ(runs, 1);
}

TEST_F(RealRuntime, JoinRethrowsWhatLeftTheBodyOnce) {
  const auto thread =
      runtime_->start_thread("failing", [] { throw std::runtime_error("planted"); });
  EXPECT_THROW(thread->join(), std::runtime_error);
  thread->join();
}

TEST_F(RealRuntime, AThreadIsJoinedWhenItsHandleGoes) {
  std::atomic<bool> done = false;
  {
    const auto thread = runtime_->start_thread("slow", [this, &done] {
      runtime_->sleep_for(5ms);
      done = true;
    });
  }
  EXPECT_TRUE(done);
}

TEST_F(RealRuntime, AFlagIsSetForAllThreads) {
  const auto flag = runtime_->make_flag({});
  int value = 0;
  EXPECT_FALSE(flag->is_set());
  runtime_->before_look();
  EXPECT_FALSE(flag->look());
  EXPECT_FALSE(flag->look_after_others());
  const auto thread = runtime_->start_thread("setter", [&] {
    value = 1;
    flag->set();
  });
  while (!flag->look_after_others()) continue;
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(flag->is_set() && flag->look());
}

TEST_F(RealRuntime, AMutexIsHeldByOneThread) {
  const auto mutex = runtime_->make_mutex();
  const std::unique_lock<RuntimeMutex> lock(*mutex);
  bool taken = true;
  runtime_->start_thread("other", [&] { taken = mutex->try_lock(); })->join();
  EXPECT_FALSE(taken);
}

TEST_F(RealRuntime, AMutexProtects) {
  const auto mutex = runtime_->make_mutex();
  int count = 0;
  const auto add = [&mutex, &count] {
    for (int i = 0; i < 1000; ++i) {
      const std::lock_guard<RuntimeMutex> lock(*mutex);
      ++count;
    }
  };
  const auto first = runtime_->start_thread("first", add);
  const auto second = runtime_->start_thread("second", add);
  first->join();
  second->join();
  EXPECT_EQ(count, 2000);
}

TEST_F(RealRuntime, AConditionWakesAWaitingThread) {
  const auto mutex = runtime_->make_mutex();
  const auto condition = runtime_->make_condition();
  bool ready = false;
  const auto waiter = runtime_->start_thread("waiter", [&] {
    std::unique_lock<RuntimeMutex> lock(*mutex);
    while (!ready) condition->wait(lock);
    EXPECT_TRUE(lock.owns_lock());
  });
  {
    const std::lock_guard<RuntimeMutex> lock(*mutex);
    ready = true;
  }
  condition->notify_all();
  waiter->join();
}

TEST_F(RealRuntime, ATimedWaitEndsByNotificationOrByTime) {
  const auto mutex = runtime_->make_mutex();
  const auto condition = runtime_->make_condition();
  std::unique_lock<RuntimeMutex> lock(*mutex);
  const TimePoint before = runtime_->now();
  while (condition->wait_for(lock, 2ms)) {
  }
  EXPECT_GE(runtime_->now() - before, Duration(2ms));
  bool ready = false;
  const auto notifier = runtime_->start_thread("notifier", [&] {
    const std::lock_guard<RuntimeMutex> inner(*mutex);
    ready = true;
    condition->notify_one();
  });
  while (!ready) EXPECT_TRUE(condition->wait_for(lock, no_timeout));
  lock.unlock();
  notifier->join();
}

TEST_F(RealRuntime, AConditionWakesEveryWaitingThreadIfAsked) {
  const auto mutex = runtime_->make_mutex();
  const auto condition = runtime_->make_condition();
  int waiting = 0;
  bool is_open = false;
  const auto wait = [&] {
    std::unique_lock<RuntimeMutex> lock(*mutex);
    ++waiting;
    while (!is_open) condition->wait(lock);
  };
  const auto first = runtime_->start_thread("first", wait);
  const auto second = runtime_->start_thread("second", wait);
  const auto all_wait = [&] {
    const std::lock_guard<RuntimeMutex> lock(*mutex);
    return waiting == 2;
  };
  while (!all_wait()) runtime_->yield();
  {
    const std::lock_guard<RuntimeMutex> lock(*mutex);
    is_open = true;
  }
  condition->notify_all();
  first->join();
  second->join();
}

}  // namespace
}  // namespace gang
