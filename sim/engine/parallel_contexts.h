// Contexts on OS threads that really run at the same time.
#pragma once

#include <deque>
#include <mutex>

#include "sim/contexts/parallel_carrier.h"
#include "sim/state/task.h"

namespace gang::sim {

class Engine;

// What carries the contexts of an engine under ContextKind::parallel: an OS thread each. Its mutex
// is the engine's Guard.
class ParallelContexts {
 public:
  explicit ParallelContexts(Engine& engine) noexcept : engine_(engine) {}

  std::mutex& mutex() noexcept { return mutex_; }

  // The context of the calling thread.
  static Task& current() noexcept;

  // Starts all programs; returns when every context has ended.
  void run();

  // Under the Guard, all of them.
  void start(Task& task);
  void wake(Task& task);
  void suspend(Task& self);  // until it is woken
  void ended();              // the calling context has
  void detach(Task& self);   // the calling thread will sleep forever

 private:
  void stop_running();

  Engine& engine_;
  std::mutex mutex_;
  std::deque<ParallelCarrier> carriers_;  // by TaskId
  std::size_t running_ = 0;
  ThreadSemaphore all_ended_;
};

}  // namespace gang::sim
