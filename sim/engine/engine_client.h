// What a run decides and its engine carries out.
#pragma once

#include <exception>

#include "gang/duration.h"
#include "sim/report/left_behind.h"
#include "sim/state/task.h"

namespace gang::sim {

// The seam above the engine. Asked off the hot path only; called under the engine's Guard, except
// run_program.
class EngineClient {
 public:
  virtual ~EngineClient() = default;

  // Runs the program of the task's rank to its end. Never throws.
  virtual void run_program(Task& task) noexcept = 0;

  virtual void context_began(const Task& task) = 0;
  virtual void context_ended(const Task& task) = 0;

  // An exception has left a further context, and no join takes it.
  virtual void context_failed(Task& task, const std::exception_ptr& error) = 0;

  // Whether calls have nothing to do but to meet: no faults, streams or recordings.
  virtual bool are_calls_plain() const noexcept = 0;

  // The run is over, and `self` is about to be unwound.
  virtual void unwinding(const Task& self) = 0;

  // No context can run. Returns whether a device went on by itself with what it had been given.
  virtual bool let_devices_go_on() { return false; }

  // No context can run. Returns whether one can now, because time has passed or the run has ended.
  virtual bool let_time_pass() = 0;

  // No context can run and no time can pass: ends the run, or fails a gang.
  virtual void give_verdict() = 0;

  // It is time to look for contexts that can never continue while others run.
  virtual void search() = 0;

  virtual void step_limit_reached() = 0;
  virtual void schedule_diverged() = 0;

  // Contexts poll, in vain so far, and look at the clock meanwhile: `step` passes, or less where an
  // operation times out before.
  virtual void pass_time(Duration step) = 0;

  // The stack of `task` could not be unwound and stays as it is. The context has ended.
  virtual void context_left_behind(const Task& task, LeftBehindBy why) = 0;

  // How long a sleep of the task's rank takes.
  virtual Duration stretched(Duration sleep, const Task& task) = 0;
};

}  // namespace gang::sim
