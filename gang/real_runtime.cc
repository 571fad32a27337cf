#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <thread>
#include <utility>

#include "gang/runtime.h"

namespace gang {
namespace {

using Clock = std::chrono::steady_clock;

class RealThread final : public RuntimeThread {
 public:
  explicit RealThread(std::function<void()> body)
      : thread_([this, body = std::move(body)] { run(body); }) {}

  ~RealThread() override {
    if (thread_.joinable()) thread_.join();
  }

  void join() override {
    if (thread_.joinable()) thread_.join();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run(const std::function<void()>& body) noexcept {
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  std::exception_ptr error_;
  std::thread thread_;  // last: starts when the other members exist
};

class RealMutex final : public RuntimeMutex {
 public:
  void lock() override { mutex_.lock(); }
  bool try_lock() override { return mutex_.try_lock(); }
  void unlock() override { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class RealCondition final : public RuntimeCondition {
 public:
  void wait(std::unique_lock<RuntimeMutex>& lock) override { condition_.wait(lock); }

  bool wait_for(std::unique_lock<RuntimeMutex>& lock, Duration timeout) override {
    const Clock::time_point now = Clock::now();
    // A deadline beyond the clock's range would wrap around into the past.
    if (timeout >= Clock::time_point::max() - now) {
      wait(lock);
      return true;
    }
    return condition_.wait_until(lock, now + timeout) == std::cv_status::no_timeout;
  }

  void notify_one() override { condition_.notify_one(); }
  void notify_all() override { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

class RealFlag final : public RuntimeFlag {
 public:
  void set() override { is_set_.store(true, std::memory_order_release); }
  bool is_set() const override { return is_set_.load(std::memory_order_acquire); }
  bool look() override { return is_set(); }
  bool look_after_others() override {
    if (!is_set()) std::this_thread::yield();
    return is_set();
  }

 private:
  std::atomic<bool> is_set_ = false;
};

class RealRuntime final : public Runtime {
 public:
  TimePoint now() const override { return Clock::now() - start_; }

  void sleep_for(Duration duration) override {
    if (duration <= Duration::zero()) return yield();
    std::this_thread::sleep_for(duration);
  }

  void yield() override { std::this_thread::yield(); }

  // The name is for reports of simulated runs; here a debugger shows the thread's own.
  std::unique_ptr<RuntimeThread> start_thread(std::string, std::function<void()> body) override {
    return std::make_unique<RealThread>(std::move(body));
  }

  std::unique_ptr<RuntimeMutex> make_mutex() override { return std::make_unique<RealMutex>(); }

  std::unique_ptr<RuntimeCondition> make_condition() override {
    return std::make_unique<RealCondition>();
  }

  std::unique_ptr<RuntimeFlag> make_flag(const CallSite&) override {
    return std::make_unique<RealFlag>();
  }

 private:
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

std::unique_ptr<Runtime> make_real_runtime() { return std::make_unique<RealRuntime>(); }

}  // namespace gang
