// Threads and time, injected: real ones, or those of the scheduler and the virtual clock.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "gang/call_site.h"
#include "gang/duration.h"

namespace gang {

// Another thread of execution of a rank. Joins on destruction.
class RuntimeThread {
 public:
  virtual ~RuntimeThread() = default;

  // Blocks until the thread's body has returned; rethrows, once, what left it. Idempotent.
  virtual void join() = 0;
};

// A mutex of a Runtime; usable with std::unique_lock and std::lock_guard. Not recursive.
class RuntimeMutex {
 public:
  virtual ~RuntimeMutex() = default;
  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
};

// A condition variable for a RuntimeMutex of the same Runtime. In simulation it wakes only when
// notified or timed out; a real one may wake spuriously, so wait in a loop.
class RuntimeCondition {
 public:
  virtual ~RuntimeCondition() = default;

  // Releases the lock, blocks until notified, takes the lock again.
  virtual void wait(std::unique_lock<RuntimeMutex>& lock) = 0;

  // The same for at most `timeout`; false if it passed first.
  virtual bool wait_for(std::unique_lock<RuntimeMutex>& lock, Duration timeout) = 0;

  virtual void notify_one() = 0;
  virtual void notify_all() = 0;
};

// Something that happens once, by one thread of a rank, and that others wait for or look at: the
// end of an operation. Threads: all methods may be called from any thread of the rank.
class RuntimeFlag {
 public:
  virtual ~RuntimeFlag() = default;

  // It has happened. What the caller did before is visible to who finds it set.
  virtual void set() = 0;

  // Whether it has happened, for those who go on only then, or for whom it makes no difference.
  virtual bool is_set() const = 0;

  // The same, for a program that goes on in either case; see Runtime::before_look.
  virtual bool look() = 0;

  // look() by a program that may do so again and again: lets others go first.
  virtual bool look_after_others() = 0;
};

// What a rank uses instead of std::thread, std::mutex and a clock, so that the same code runs on
// real threads and in simulation, where every switch is the scheduler's choice.
//
// Ownership: threads, mutexes and conditions must not outlive the Runtime they came from.
// Threads: all methods may be called from any thread of the rank.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Time since the run began. Constant between scheduling points in simulation.
  virtual TimePoint now() const = 0;

  // Blocks the calling thread for at least `duration` (exactly, in simulation). Zero is yield(),
  // which may return later if only time can change something.
  virtual void sleep_for(Duration duration) = 0;

  // Lets other threads and ranks go first. A polling loop must call this (or Work::test, which
  // does); otherwise a simulated run cannot leave the loop.
  virtual void yield() = 0;

  // Starts `body` on another thread of this rank. `name` appears in reports ("loader").
  virtual std::unique_ptr<RuntimeThread> start_thread(std::string name,
                                                      std::function<void()> body) = 0;

  virtual std::unique_ptr<RuntimeMutex> make_mutex() = 0;
  virtual std::unique_ptr<RuntimeCondition> make_condition() = 0;
  // For the end of what was called at `call_site`, which appears in reports.
  virtual std::unique_ptr<RuntimeFlag> make_flag(const CallSite& call_site) = 0;

  // The program is about to see how far operations are, rather than to wait for their end. In
  // simulation that depends on the schedule: who has gone on before this.
  virtual void before_look() {}
};

// Real threads and the steady clock; time zero is when this function is called.
std::unique_ptr<Runtime> make_real_runtime();

}  // namespace gang
