// Who runs next, what time it is, blocking and waking: the scheduling core of a run.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sim/contexts/context_switcher.h"
#include "sim/contexts/fiber_switcher.h"
#include "sim/engine/choices.h"
#include "sim/engine/clock.h"
#include "sim/engine/context_ends.h"
#include "sim/engine/context_table.h"
#include "sim/engine/engine_client.h"
#include "sim/engine/parallel_contexts.h"
#include "sim/engine/polls.h"
#include "sim/engine/step_counter.h"
#include "sim/engine/wait.h"
#include "sim/options/simulation_options.h"
#include "sim/schedule/runnable_set.h"

namespace gang::sim {

// Thrown in a rank whose run is over, to unwind its stack. Not a std::exception, so that programs
// do not mistake it for an error of their own.
struct RunOver {};

// The contexts of one run. `Guard` protects their shared state (a mutex under parallel contexts,
// nothing otherwise, since one context runs at a time).
class Engine final : public TaskRunner {
 public:
  // All outlive the engine.
  Engine(const SimulationOptions& options, std::span<RankState> ranks, EngineClient& client);
  ~Engine() override;

  // Runs every context to its end.
  void run();

  // Every entry from a program takes one. Not recursive.
  class Guard {
   public:
    explicit Guard(Engine& engine)
        : mutex_(engine.parallel_ == nullptr ? nullptr : &engine.parallel_->mutex()) {
      if (mutex_ != nullptr) mutex_->lock();
    }
    ~Guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::mutex* mutex_;
  };

  // The functions below are called under a Guard.

  template <bool is_plain = false>
  Task& current() const noexcept {
    return !is_plain && parallel_ != nullptr ? ParallelContexts::current() : *current_;
  }

  // Whether the run is under way, on fibers in turn, and calls have nothing to do but to meet. The
  // functions that take this as `is_plain` are compiled for both cases; where it holds, they leave
  // out the questions that it answers.
  bool are_calls_plain() const noexcept { return are_calls_plain_; }

  // Blocks the current context until it is woken; wake-ups may be spurious, so callers loop. Throws
  // RunOver if the run ends first.
  template <bool is_plain = false>
  [[gnu::always_inline]] void block(Task& self, const Wait& wait) {
    if (!is_plain) check_running();
    block_quietly<is_plain>(self, wait);
    if (is_over_) [[unlikely]] {
      ends_.leave(self);
      throw RunOver{};
    }
  }

  // The same, but returns when the run ends. For destructors.
  template <bool is_plain = false>
  [[gnu::always_inline]] void block_quietly(Task& self, const Wait& wait) noexcept {
    self.wait = &wait;
    ++self.wait_serial;
    suspend<is_plain>(self);
    self.wait = nullptr;
  }

  // Makes `task` runnable if it is blocked. Idempotent.
  void wake(Task& task) {
    if (task.wait == nullptr) return;
    polls_.note_progress();
    wake_after_progress(task);
  }

  // The same, after note_progress.
  template <bool is_plain = false>
  [[gnu::always_inline]] void wake_after_progress(Task& task) {
    if (task.wait == nullptr) return;
    if (task.is_polling) [[unlikely]]
      polls_.remove(task);  // what it polls has ended by itself
    task.wait = nullptr;
    if (!is_plain && parallel_ != nullptr) [[unlikely]]
      parallel_->wake(task);
    else
      runnable_.insert(task.id);
  }

  // Lets other contexts run first if the scheduler may switch at every call.
  void scheduling_point();

  // Lets all other contexts run first, after a poll that found nothing, and which has noted that:
  // of `pending`, if that is not null.
  void poll(PendingOperation* pending);

  template <bool is_plain = false>
  TimePoint now() const noexcept {
    return is_plain ? clock_.virtual_now() : clock_.now();
  }

  // Throws RunOver if the run is over: nothing may be posted any more.
  void check_running() {
    if (is_over_) [[unlikely]]
      ends_.refuse(current());
  }
  bool is_over() const noexcept { return is_over_; }

  // Ends the run: every context is woken, and unwinds.
  void end_run();

  // Starts a further context of the rank, which may run from now on: one of its program's, or of
  // gangs of a foreign backend.
  Task& start_context(RankState& rank, std::string name, std::function<void()> body,
                      bool is_of_gangs = false);

  // Stops all contexts of the rank; one that is running must call ends().stay_frozen next.
  void freeze(const RankState& rank);

  // Something has happened that a polling context could see.
  void note_progress() noexcept { polls_.note_progress(); }

  Clock& clock() noexcept { return clock_; }
  Choices& choices() noexcept { return choices_; }
  ContextTable& contexts() noexcept { return contexts_; }
  ContextEnds& ends() noexcept { return ends_; }
  std::uint64_t switches() const noexcept { return steps_.steps(); }

  Task& run_task(Task& task) noexcept override;

 private:
  friend class ContextEnds;
  friend class ParallelContexts;
  friend void wait_outside(Engine& engine);
  friend void await_turn(Engine& engine);
  friend bool others_can_run(const Engine& engine) noexcept;

  template <bool is_plain = false>
  [[gnu::always_inline]] void suspend(Task& self) {
    if (!is_plain && parallel_ != nullptr) [[unlikely]]
      return parallel_->suspend(self);
    Task& next = pick_next<is_plain>(self.id);
    if (&next != &self) switch_to<is_plain>(self, next);
  }
  template <bool is_plain = false>
  [[gnu::always_inline]] void switch_to(Task& from, Task& to) {
    current_ = &to;
    if (is_plain || fibers_ != nullptr)
      fibers_->jump(from, to);
    else
      switcher_->switch_to(from, to);
  }
  template <bool are_calls_plain = false>
  [[gnu::always_inline]] Task& pick_next(TaskId after) {
    while (runnable_.empty()) [[unlikely]]
      on_idle();
    if (steps_.step()) [[unlikely]]
      stop();
    choices_.count(runnable_.size());
    const bool is_plain = are_calls_plain || is_plain_;
    const TaskId chosen = is_plain ? runnable_.take_next_after(after) : choose(after);
    if (!is_plain) runnable_.remove(chosen);
    // Of two that will run soon, the nearer one has been announced before.
    if (expects_) fibers_->expect(after, runnable_.second_after(chosen));
    return contexts_[chosen];
  }
  TaskId choose(TaskId after);
  void live(Task& task) noexcept;  // the whole life of a context
  void stop();                     // because of the step counter
  void on_idle();                  // no context can run; afterwards one can
  bool resume(std::vector<TaskId>& waiting);

  const SimulationOptions& options_;
  EngineClient& client_;
  std::unique_ptr<ParallelContexts> parallel_;  // null: one context runs at a time
  Task* current_ = nullptr;
  bool is_over_ = false;
  // Round robin, which nobody watches or records.
  bool is_plain_ = false;
  bool are_calls_plain_ = false;
  bool expects_ = false;  // tells the fibers which task comes soon
  ContextTable contexts_;
  ContextEnds ends_;
  RunnableSet runnable_;
  Choices choices_;
  StepCounter steps_;
  Clock clock_;
  Polls polls_;
  std::vector<TaskId> outside_waits_;  // contexts in wait_outside
  std::unique_ptr<ContextSwitcher> switcher_;
  FiberSwitcher* fibers_ = nullptr;  // switcher_, where it is one
};

// In place of a Guard where Engine::are_calls_plain.
struct NoGuard {
  explicit NoGuard(Engine&) noexcept {}
};

// Lets all other contexts run until none of them can. Then, before time passes or a verdict falls,
// those that wait here may run, in an order that the scheduler chooses: each then waits in real
// time for something outside the simulation. Not under ContextKind::parallel.
void wait_outside(Engine& engine);

// The same before a wait for something that comes whatever the other contexts do. In schedules of
// explorations it returns at once: they choose at each call who comes first.
void await_turn(Engine& engine);

// Whether a context beside the current one could run now.
bool others_can_run(const Engine& engine) noexcept;

// Blocks the current context for `duration`.
void sleep_in(Engine& engine, Duration duration);

// Lets all other contexts run first, after a yield.
void yield_in(Engine& engine);

[[noreturn, gnu::cold, gnu::noinline]] void throw_ended(std::string_view what);
[[noreturn, gnu::cold, gnu::noinline]] void throw_foreign_thread(std::string_view what);

// Throws InvalidOperation "`what` was used after the end of its simulation", or "by a thread that
// the simulation did not start", if that is the case.
inline void require_running(Engine& engine, std::string_view what) {
  if (!engine.ends().is_on_this_thread()) [[unlikely]]
    engine.is_over() ? throw_ended(what) : throw_foreign_thread(what);
  if (engine.current().id == outside_task) [[unlikely]]
    throw_ended(what);
}

}  // namespace gang::sim
