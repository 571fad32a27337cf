// A clock for tests that moves only when someone waits.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "gang/runtime.h"

namespace gang {

// Whoever waits for a time finds that it has come. Nobody is ever notified. Threads: one.
class ClockRuntime final : public Runtime {
 public:
  explicit ClockRuntime(TimePoint begin) : now_(begin) {}

  TimePoint now() const override { return now_; }
  void sleep_for(Duration duration) override { now_ += duration; }
  void yield() override {}
  std::unique_ptr<RuntimeThread> start_thread(std::string name,
                                              std::function<void()> body) override {
    return real_->start_thread(std::move(name), std::move(body));
  }
  std::unique_ptr<RuntimeMutex> make_mutex() override { return real_->make_mutex(); }
  std::unique_ptr<RuntimeCondition> make_condition() override {
    return std::make_unique<Condition>(*this);
  }
  std::unique_ptr<RuntimeFlag> make_flag(const CallSite& call_site) override {
    return real_->make_flag(call_site);
  }

 private:
  class Condition final : public RuntimeCondition {
   public:
    explicit Condition(ClockRuntime& clock) : clock_(clock) {}
    void wait(std::unique_lock<RuntimeMutex>&) override {
      throw std::logic_error("waits for ever");
    }
    bool wait_for(std::unique_lock<RuntimeMutex>&, Duration timeout) override {
      clock_.sleep_for(timeout);
      return false;
    }
    void notify_one() override {}
    void notify_all() override {}

   private:
    ClockRuntime& clock_;
  };

  std::unique_ptr<Runtime> real_ = make_real_runtime();
  TimePoint now_;
};

}  // namespace gang
