// Processes for the ranks of a program, made and gathered by this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gang/duration.h"

namespace gang::harness {

// How a process ended.
struct ProcessEnd {
  std::string result;  // what its body returned
  std::string death;   // why there is none: "was killed by signal 6 (Aborted)"; empty: there is
  int signal = 0;      // that ended it; 0: none did, or it was killed here for being late

  bool has_returned() const noexcept { return death.empty(); }
};

// How long processes are let run.
struct ProcessLimits {
  Duration grace = no_timeout;   // of the others, once one has ended
  Duration in_all = no_timeout;  // of all
  // Whether those that are stopped go on, when all others have ended or are stopped: asked again
  // and again until it says so, on the thread that waits. Null: they do at once.
  std::function<bool()> may_go_on = nullptr;
};

// Runs `body(0)` ... `body(count - 1)`, each in a process of its own, and returns what they return,
// in this order. Blocks until all have ended; those that have not within the limits are killed.
// They never outlive this process, however it ends. A body that throws ends its process with a
// death that says what. A process that is stopped (SIGSTOP) goes on when all others have ended or
// are stopped, and then has the grace, too.
//
// The processes are copies of this one (fork): they see everything as it is at the call, and no
// thread but the calling one. Linux. Throws std::system_error where the system gives no process.
std::vector<ProcessEnd> run_processes(int count, const std::function<std::string(int rank)>& body,
                                      const ProcessLimits& limits);
inline std::vector<ProcessEnd> run_processes(int count,
                                             const std::function<std::string(int rank)>& body,
                                             Duration grace) {
  return run_processes(count, body, ProcessLimits{.grace = grace});
}

}  // namespace gang::harness
