// Processes for the ranks of a program, started and collected by this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gang/duration.h"

namespace gang::harness {

// How a process ended.
struct ProcessEnd {
  std::string result;  // what its body returned
  std::string death;   // why there is no result: "was killed by signal 6 (Aborted)"; else empty
  int signal = 0;      // that ended it; 0: none, or it was killed here for being late

  bool has_returned() const noexcept { return death.empty(); }
};

// How long processes may run.
struct ProcessLimits {
  Duration grace = no_timeout;   // of the others, once one has ended
  Duration in_all = no_timeout;  // of all
  // Whether stopped processes may continue once all others have ended or are stopped. Called
  // repeatedly until true, on the thread that waits. Null: at once.
  std::function<bool()> may_go_on = nullptr;
};

// Runs `body(0)` ... `body(count - 1)`, each in a process of its own, and returns what they return,
// in this order. Blocks until all have ended; those that exceed the limits are killed. They never
// outlive this process, however it ends. A body that throws ends its process with a death that says
// what. A process that is stopped (SIGSTOP) continues when all others have ended or are stopped,
// and then has the grace, too.
//
// The processes are copies of this one (fork): they see everything as it is at the call, and no
// thread but the calling one. Linux. Throws std::system_error if a process cannot be started.
std::vector<ProcessEnd> run_processes(int count, const std::function<std::string(int rank)>& body,
                                      const ProcessLimits& limits);
inline std::vector<ProcessEnd> run_processes(int count,
                                             const std::function<std::string(int rank)>& body,
                                             Duration grace) {
  return run_processes(count, body, ProcessLimits{.grace = grace});
}

}  // namespace gang::harness
