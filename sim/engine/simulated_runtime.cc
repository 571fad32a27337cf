#include "sim/engine/simulated_runtime.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "gang/error.h"
#include "gang/recycled.h"
#include "sim/contexts/invariant.h"
#include "sim/engine/engine.h"
#include "sim/engine/simulated_flag.h"
#include "sim/schedule/guide.h"

namespace gang::sim {
namespace {

class SimulatedMutex final : public RuntimeMutex {
 public:
  SimulatedMutex(Engine& engine, RuntimeUser user) noexcept
      : engine_(engine),
        user_(user),
        key_(engine.choices().guide() == nullptr ? 0 : engine.choices().guide()->new_object()) {}

  void lock() override {
    const Engine::Guard guard(engine_);
    // In explorations the order matters only of what a Guide is told of.
    if (user_ == RuntimeUser::gangs && engine_.choices().looks_at_once()) return acquire();
    if (Guide* guide = engine_.choices().guide()) guide->wants(key_);
    engine_.scheduling_point();
    acquire();
  }

  bool try_lock() override {
    const Engine::Guard guard(engine_);
    engine_.scheduling_point();
    if (Guide* guide = engine_.choices().guide())
      tell(*guide, AccessKind::try_lock, AccessMode::write, attempts_on(key_));
    if (holder_ != nullptr) return false;
    holder_ = &engine_.current();
    took();
    return true;
  }

  void unlock() override {
    const Engine::Guard guard(engine_);
    release();
  }

  // What a Guide knows it by.
  StepKey key() const noexcept { return key_; }

  // The two below run under the guard.
  void acquire() {
    // Destructors lock, too, and may not throw.
    if (engine_.is_over()) return acquire_after_run();
    Task& self = engine_.current();
    if (holder_ == &self)
      throw InvalidOperation("one thread locked a mutex twice; mutexes are not recursive");
    while (holder_ != nullptr) {
      waiting_.push_back(&self);
      const Wait wait{Wait::Reason::mutex, holder_};
      if (Guide* guide = engine_.choices().guide()) guide->wants(key_);
      engine_.block(self, wait);
    }
    holder_ = &self;
    took();
  }

  void release() noexcept {
    holder_ = nullptr;
    if (Guide* guide = engine_.choices().guide()) {
      tell(*guide, AccessKind::unlock, AccessMode::read, attempts_on(key_));
      if (user_ == RuntimeUser::program) guide->publish(key_);
      guide->released(key_);
    }
    for (Task* task : waiting_) engine_.wake(*task);
    waiting_.clear();
  }

  // After the run has ended no context waits for locks, but they are still unlocked.
  void acquire_after_run() noexcept {
    holder_ = &engine_.current();
    engine_.ends().refuse(*holder_, ContextEnds::Refusal::silent);
  }

 private:
  void tell(Guide& guide, AccessKind kind, AccessMode mode, StepKey object) const {
    if (user_ == RuntimeUser::gangs) return;
    guide.access(
        {.kind = kind, .mode = mode, .rank = engine_.current().rank->rank, .object = object});
  }

  void took() {
    Guide* guide = engine_.choices().guide();
    if (guide == nullptr) return;
    tell(*guide, AccessKind::lock, AccessMode::write, key_);
    tell(*guide, AccessKind::lock, AccessMode::read, attempts_on(key_));
    if (user_ == RuntimeUser::program) guide->join(key_);
    guide->took(key_);
  }

  Engine& engine_;
  const RuntimeUser user_;
  const StepKey key_;
  Task* holder_ = nullptr;
  std::vector<Task*> waiting_;
};

class SimulatedCondition final : public RuntimeCondition {
 public:
  SimulatedCondition(Engine& engine, RuntimeUser user) noexcept
      : engine_(engine),
        user_(user),
        key_(engine.choices().guide() == nullptr ? 0 : engine.choices().guide()->new_object()) {}

  void wait(std::unique_lock<RuntimeMutex>& lock) override {
    const Engine::Guard guard(engine_);
    wait_until(lock, TimePoint::max());
  }

  bool wait_for(std::unique_lock<RuntimeMutex>& lock, Duration timeout) override {
    const Engine::Guard guard(engine_);
    return wait_until(lock, deadline_after(engine_.now(), timeout));
  }

  void notify_one() override { notify(1); }
  void notify_all() override { notify(std::numeric_limits<std::size_t>::max()); }

 private:
  struct Waiter {
    Task* task;
    bool* is_notified;
  };

  bool wait_until(std::unique_lock<RuntimeMutex>& lock, TimePoint deadline) {
    require_running(engine_, "a condition");
    auto& mutex = static_cast<SimulatedMutex&>(*lock.mutex());
    Task& self = engine_.current();
    bool is_notified = false;
    waiters_.push_back({&self, &is_notified});
    tell(AccessKind::wait);
    mutex.release();
    try {
      while (!is_notified && engine_.now() < deadline) {
        if (deadline != TimePoint::max()) engine_.clock().wake_at(deadline, self);
        // One that may time out does not need the mutex for that.
        if (Guide* guide = engine_.choices().guide();
            guide && (deadline == TimePoint::max() || user_ == RuntimeUser::gangs))
          guide->wants(mutex.key());
        engine_.block(self, Wait{Wait::Reason::condition});
      }
      if (engine_.now() >= deadline) note_end_at_deadline();
      forget(is_notified);
      if (Guide* guide = engine_.choices().guide(); guide && user_ == RuntimeUser::program)
        guide->join(key_);
      mutex.acquire();
    } catch (...) {
      forget(is_notified);
      mutex.acquire_after_run();  // the lock's destructor will unlock
      throw;
    }
    return is_notified;
  }

  // A notification in that instant may come before it or after.
  void note_end_at_deadline() const {
    engine_.choices().note_guided_choice();
    Guide* guide = engine_.choices().guide();
    if (guide == nullptr || user_ == RuntimeUser::gangs) return;
    guide->access({.kind = AccessKind::wait,
                   .mode = AccessMode::read,
                   .rank = engine_.current().rank->rank,
                   .object = key_});
  }

  void forget(const bool& is_notified) {
    std::erase_if(waiters_,
                  [&is_notified](const Waiter& w) { return w.is_notified == &is_notified; });
  }

  void notify(std::size_t count) {
    const Engine::Guard guard(engine_);
    tell(AccessKind::notification);
    count = std::min(count, waiters_.size());
    for (std::size_t i = 0; i < count; ++i) {
      *waiters_[i].is_notified = true;
      engine_.wake(*waiters_[i].task);
    }
    waiters_.erase(waiters_.begin(), waiters_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  // A wait that begins, or a notification. Who is notified comes after all before it.
  void tell(AccessKind kind) const {
    Guide* guide = engine_.choices().guide();
    if (guide == nullptr || user_ == RuntimeUser::gangs) return;
    guide->access({.kind = kind,
                   .mode = AccessMode::write,
                   .rank = engine_.current().rank->rank,
                   .object = key_});
    guide->publish(key_);
  }

  Engine& engine_;
  const RuntimeUser user_;
  const StepKey key_;
  std::vector<Waiter> waiters_;
};

class SimulatedThread final : public RuntimeThread {
 public:
  SimulatedThread(Engine& engine, EngineClient& client, Task& task) noexcept
      : engine_(engine), client_(client), task_(task) {}

  ~SimulatedThread() override {
    const Engine::Guard guard(engine_);
    await();
    if (task_.further->error && !engine_.is_over() && std::uncaught_exceptions() == 0)
      client_.context_failed(task_, take_error());
  }

  void join() override {
    const Engine::Guard guard(engine_);
    engine_.scheduling_point();
    await();
    engine_.check_running();
    if (task_.further->error) std::rethrow_exception(take_error());
  }

 private:
  // The contexts of a run that is over still end one by one, so this is waited for even then.
  void await() noexcept {
    const Wait wait{Wait::Reason::join, &task_};
    Task& self = engine_.current();
    while (!task_.is_done) {
      task_.further->joiner = &self;
      engine_.block_quietly(self, wait);
    }
    task_.further->joiner = nullptr;
    if (Guide* guide = engine_.choices().guide()) guide->join(guide->end_of(task_.id));
  }

  std::exception_ptr take_error() noexcept { return std::exchange(task_.further->error, nullptr); }

  Engine& engine_;
  EngineClient& client_;
  Task& task_;
};

class SimulatedRuntime final : public Runtime, public Recycled<SimulatedRuntime> {
 public:
  SimulatedRuntime(Engine& engine, EngineClient& client, RuntimeUser user) noexcept
      : engine_(engine), client_(client), user_(user) {}

  TimePoint now() const override {
    const Engine::Guard guard(engine_);
    // What gangs do at some time is no poll of the program's.
    if (user_ == RuntimeUser::program && engine_.ends().is_on_this_thread())
      engine_.current().make_rare().has_asked_time = true;
    return engine_.now();
  }

  void sleep_for(Duration duration) override {
    if (duration < Duration::zero())
      throw InvalidArgument("sleep of " + gang::to_string(duration) + "; must be zero or more");
    if (duration == Duration::zero()) return yield();
    const Engine::Guard guard(engine_);
    require_running(engine_, "a clock");
    sleep_in(engine_, client_.stretched(duration, engine_.current()));
  }

  void yield() override {
    const Engine::Guard guard(engine_);
    require_running(engine_, "a rank");
    if (!may_go_on()) return yield_in(engine_);
    engine_.choices().note_early_look();
    ++engine_.current().make_rare().polls;
    engine_.scheduling_point();
  }

  std::unique_ptr<RuntimeThread> start_thread(std::string name,
                                              std::function<void()> body) override {
    const Engine::Guard guard(engine_);
    require_running(engine_, "a rank");
    engine_.scheduling_point();
    Task& task = engine_.start_context(*engine_.current().rank, std::move(name), std::move(body),
                                       user_ == RuntimeUser::gangs);
    return std::make_unique<SimulatedThread>(engine_, client_, task);
  }

  std::unique_ptr<RuntimeMutex> make_mutex() override {
    return std::make_unique<SimulatedMutex>(engine_, user_);
  }

  std::unique_ptr<RuntimeCondition> make_condition() override {
    return std::make_unique<SimulatedCondition>(engine_, user_);
  }

  std::unique_ptr<RuntimeFlag> make_flag(const CallSite& call_site) override {
    const Engine::Guard guard(engine_);
    return make_simulated_flag(engine_, call_site);
  }

  void before_look() override {
    const Engine::Guard guard(engine_);
    if (engine_.choices().looks_at_once()) engine_.scheduling_point();
  }

 private:
  // Whether a yield gives way only where the schedule says so. Not of one that waits for time to
  // pass, nor of a rank with threads, which may wait for memory that they share.
  bool may_go_on() const {
    const Task& self = engine_.current();
    return !engine_.is_over() && !self.rare().has_asked_time && !self.rank->has_threads &&
           engine_.choices().returns_at_once(false, self.rare().polls);
  }

  Engine& engine_;
  EngineClient& client_;
  const RuntimeUser user_;
};

}  // namespace

std::unique_ptr<Runtime> make_simulated_runtime(Engine& engine, EngineClient& client,
                                                RuntimeUser user) {
  return std::make_unique<SimulatedRuntime>(engine, client, user);
}

}  // namespace gang::sim
