// Whose request is taken next, and what happens when a process does not speak.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gang/duration.h"
#include "harness/conductor/idleness.h"
#include "harness/conductor/long_waits.h"
#include "harness/conductor/poller.h"
#include "harness/conductor/rank_process.h"
#include "harness/conductor/rest.h"
#include "sim/simulation.h"

namespace gang::harness {

// How requests of processes are taken.
struct TurnOptions {
  // Requests are taken as they come, not in the scheduler's order.
  bool is_free = false;
  // How long a process may be idle outside of any call before the others go on without it.
  Duration patience = std::chrono::milliseconds(500);
  // The same where it sleeps, in one go or in a loop, as long as the order is reproducible.
  Duration patience_with_sleep = std::chrono::seconds(5);
  // How long all processes outside of calls may be idle, and nobody speak, before they count as
  // stuck.
  Duration stall_limit = std::chrono::seconds(5);
  // The same for those that sleep. Also how long a thread may work while another one of its process
  // has made a call, before that is taken.
  Duration sleep_limit = std::chrono::seconds(30);
  // The same where only threads are left that have never called.
  Duration silent_threads_limit = std::chrono::seconds(3);
  // Once it is true, every process that is outside of a call counts as stuck, whatever it does
  // there. Null: never.
  const std::atomic<bool>* interrupt = nullptr;
};

// The contexts of a run that wait for their processes. Each waits until no other context can run
// and then, when the scheduler has chosen it, in real time until its process speaks: so requests
// are taken in an order that does not depend on which process is faster. A process that is idle
// (it waits for something that another rank must do) loses its turn, and the order of the run can
// no longer be reproduced. One that is at rest (all its threads wait for each other, or for
// answers) goes on when it is answered, and the order stays the same; so does one that dozes,
// unless it wakes by itself.
class Turns {
 public:
  Turns(Poller& poller, const TurnOptions& options) : poller_(poller), options_(options) {}

  // One context's place.
  struct Turn {
    sim::SimulatedRank& rank;
    const RankProcess& process;
    pid_t thread = 0;                    // that it belongs to; 0: the main one
    bool is_free = false;                // has lost its turn, until it speaks
    bool is_silent = false;              // belongs to threads that may never speak
    bool leaves_to_new_callers = false;  // ends its wait where its process has one to be served
    CallSite call_site = {};             // of its last call
  };

  // Forgets what is known of the run before.
  void begin_run();

  // Blocks the calling context until `has_spoken()`, or may leave to a new caller. Returns false if
  // it is silent, and all is idle.
  bool wait(Turn& turn, const std::function<bool()>& has_spoken);

  // A process has spoken, connected or ended: now, which is returned.
  Idleness::Clock::time_point note_arrival() noexcept {
    ++arrivals_;
    return quiet_since_ = Idleness::Clock::now();
  }

  // Hears what is said within `timeout`, in real time. Whether anything was.
  bool hear(sim::SimulatedRank& rank, Duration timeout);

  // How long others wait for one that does not speak, before the order depends on time.
  Duration patience() const noexcept { return options_.patience; }
  // The new caller of the process has called at a time of its own, which the run depends on.
  void note_hasty(const RankProcess& process);

  // A request of the process was answered, or taken if it has no answer: so its threads may go on.
  void note_step(RankProcess& process, sim::SimulatedRank& rank);

  // What a report of the run has to say, once it has ended so.
  RealTime real_time(sim::Outcome outcome) const;
  // Why the run cannot be reproduced; empty if it can.
  const std::string& irreproducible() const noexcept { return irreproducible_; }
  // The ranks that counted as stuck outside of calls when the run ended, so that its verdict is
  // probable, not certain.
  const std::vector<int>& stuck_ranks() const noexcept { return stuck_ranks_; }
  // The ranks that were outside of calls when the run ended, each as often as it has contexts
  // there, and could only go on if one of their calls were answered. That is certain.
  const std::vector<int>& resting_ranks() const noexcept { return resting_ranks_; }
  // Of the run: who waited longer than a real one would have.
  LongWaits& long_waits() noexcept { return long_waits_; }
  bool is_interrupted() const noexcept {
    return options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed);
  }

 private:
  enum class Heard : std::uint8_t { something, nothing_yet, new_caller, rest, stalled };

  class Waiting;

  Heard listen(Turn& turn, Waiting& waiting, const std::function<bool()>& has_spoken);
  Heard listen_for_one(Turn& turn, Waiting& waiting, const std::function<bool()>& has_spoken);
  Heard listen_for_any(Turn& turn, Waiting& waiting);
  bool may_leave_to_new_caller(const Turn& turn, Stillness stillness) const;
  bool holds_up_another(const Turn& turn) const;
  void note_that_others_went_on(const Turn& turn);
  void note_irreproducible(std::string reason);
  void announce_since(std::uint64_t arrivals, sim::SimulatedRank& rank);
  void look_around(Waiting& listening);
  bool is_stalled() const;
  void await_step(Turn& turn, const std::function<bool()>& has_spoken);
  void count_as_stuck(Turn& turn, const std::function<bool()>& has_spoken);

  Poller& poller_;
  const TurnOptions options_;
  std::uint64_t arrivals_ = 0;
  int outside_ = 0;       // contexts in wait() that are not stuck
  int taking_turns_ = 0;  // of them, those that are not free
  std::vector<Waiting*> waiting_;
  Idleness::Clock::time_point quiet_since_{};
  Idleness::Clock::time_point next_look_around_{};
  std::vector<int> stuck_ranks_;
  std::vector<int> resting_ranks_;
  std::string irreproducible_;
  LongWaits long_waits_;
};

}  // namespace gang::harness
