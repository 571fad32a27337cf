// What carries contexts: fibers or threads.
#pragma once

#include <memory>

#include "sim/state/task.h"

namespace gang::sim {

// Runs the body of a task to its end and chooses its successor; implemented by the engine.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;

  // Runs `task` and returns the task that goes on after it. Never throws.
  virtual Task& run_task(Task& task) noexcept = 0;
};

// Lets exactly one task run at a time. The caller of a run is a task too: the one with id
// `outside_task`, which has no body.
class ContextSwitcher {
 public:
  virtual ~ContextSwitcher() = default;

  // Suspends `from` and resumes `to`, starting it if it has not run yet. Returns when something
  // switches to `from` again.
  virtual void switch_to(Task& from, Task& to) = 0;

  // The same, but nothing will ever switch to `from` again. Its stack stays as it is, for good:
  // what is on it is never destroyed.
  [[noreturn]] virtual void leave_behind(Task& from, Task& to) = 0;
};

// On one OS thread per task.
std::unique_ptr<ContextSwitcher> make_thread_switcher(TaskRunner& runner);

}  // namespace gang::sim
