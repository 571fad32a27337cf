// One rank's process, as the conductor knows it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/conductor/connection.h"
#include "harness/conductor/joined_gangs.h"
#include "harness/conductor/long_waits.h"
#include "harness/conductor/messages.h"
#include "sim/report/report.h"
#include "sim/state/process_death.h"

namespace gang::harness {

// A thread of the process that calls.
struct Caller {
  explicit Caller(Descriptor socket) noexcept : connection(std::move(socket)) {}

  HelloMessage hello;
  Connection connection;
  bool is_served = false;  // by a context of the rank
  bool awaits_answer = false;
  TimeOutside::Clock::time_point outside_since = TimeOutside::Clock::now();  // of calls
  TimeOutside::Clock::time_point spoke_at = {};                              // its last bytes came
  // How much earlier a real run would be here: its last calls have waited for whom they do not
  // need.
  Duration ahead{0};
  std::optional<StackMessage> stack;  // once it was asked for
};

// Whether a process works.
struct ProcessorUse {
  std::uint64_t ticks = 0;   // that all its threads have used so far; fewer when a child has ended
  bool is_busy = false;      // one of them has a processor, or waits for one
  bool is_sleeping = false;  // the thread in question, until a time that is known
};

struct RankProcess {
  int rank = 0;
  pid_t id = 0;            // 0: it is not known yet
  Descriptor ended_by;     // a pidfd; not open: not known yet, or ended
  bool is_shared = false;  // with other ranks, which are threads, or with the conductor
  bool has_ended = false;
  bool has_said_bye = false;       // its first caller has
  std::optional<int> wait_status;  // as waitpid gives it, where that is known
  std::optional<FailedMessage> failure;
  std::deque<std::unique_ptr<Caller>> callers;  // in the order of their hellos
  std::unique_ptr<Caller> watcher;
  JoinedGangs gangs;                // during the run
  std::uint32_t other_threads = 0;  // Python threads that have never called, as last heard
  std::uint64_t steps = 0;          // hellos, answers, and requests that have none

  // `caller`, one of its callers, calls at `call_site`. It was outside of calls when it would have
  // been in a real run.
  void begin_call(Caller& caller, const CallSite& call_site);

  // Whether several of its threads take turns, which may wait for each other.
  bool has_threads() const noexcept { return callers.size() > 1 || other_threads > 0; }
  bool has_new_caller() const noexcept { return !callers.empty() && !callers.back()->is_served; }
};

// How the process ended, "exited with status 3"; none if in good order, or if that is not known.
std::optional<sim::ProcessDeath> death_of(const RankProcess& process);

// What the process says of itself.
sim::Finding finding_of(FindingMessage message);

// Whether a system call only sleeps, until a known time. Python's time.sleep is clock_nanosleep
// from 3.11 on; before, a select without descriptors.
bool is_sleep(long system_call, std::uint64_t first_argument) noexcept;

// Of the process and of those that it has started. `thread` is asked whether it sleeps; 0: the main
// one. None if the process has ended.
std::optional<ProcessorUse> processor_use(pid_t process, pid_t thread = 0);

}  // namespace gang::harness
