// Started operations that another thread of their rank completes.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gang/runtime.h"
#include "gang/work.h"

namespace gang {

class EndingWork;

// What the works of one rank share: a lock, and a condition that is notified whenever one of them
// ends, so that a thread can wait for any of several. Shared by the rank's gangs.
// Threads: any thread of the rank.
class CompletionBoard {
 public:
  explicit CompletionBoard(std::shared_ptr<Runtime> runtime);

  Runtime& runtime() const noexcept { return *runtime_; }
  std::unique_lock<RuntimeMutex> lock() const { return std::unique_lock<RuntimeMutex>(*mutex_); }
  RuntimeCondition& changed() const noexcept { return *changed_; }

  // Keeps a work that the program has let go of, until a later call of either finds that it has
  // ended. Gangs call the second one when they close.
  void keep(std::shared_ptr<EndingWork> detached);
  void forget_ended() noexcept;

 private:
  std::shared_ptr<Runtime> runtime_;
  std::unique_ptr<RuntimeMutex> mutex_;
  std::unique_ptr<RuntimeCondition> changed_;
  std::vector<std::shared_ptr<EndingWork>> detached_;  // under the lock
  std::atomic<bool> has_detached_ = false;             // so that most gangs need no lock
};

inline TimePoint deadline_after(const Runtime& runtime, Duration timeout) {
  return deadline_after(runtime.now(), timeout);
}

// The time until `deadline`, but at least 1 ms; no_timeout for TimePoint::max().
Duration time_left(const Runtime& runtime, TimePoint deadline);

// The part of a WorkState that concerns waiting. The thread that performs it calls `end` once.
class EndingWork : public WorkState {
 public:
  // `call_site`: where it was started.
  explicit EndingWork(std::shared_ptr<CompletionBoard> board, const CallSite& call_site = {});

  bool wait(Duration timeout) override;
  bool test() override;
  Received received() const override { return received_; }
  std::size_t wait_any(std::span<WorkState* const> works) override;
  void dropped() noexcept override;
  void detached(std::shared_ptr<WorkState> self) noexcept override;

  bool has_ended() const { return ended_->is_set(); }

  // The operation has ended; it failed unless `error` is null.
  void end(std::exception_ptr error, Received received = {});

 protected:
  CompletionBoard& board() const noexcept { return *board_; }

  // Blocks until the operation has ended. A work that no thread performs yet is performed here.
  virtual void await();

  // The program polls, or waits for other works too: the work must now complete without await.
  // Whether it may have ended because of this.
  virtual bool run_in_background() { return false; }

  // An exception that leaves the program has taken the last handle, and soon the memory of the
  // operation: makes the operation end soon.
  virtual void abandon() noexcept {}

 private:
  void rethrow() const;

  std::shared_ptr<CompletionBoard> board_;
  std::exception_ptr error_;
  Received received_;
  std::unique_ptr<RuntimeFlag> ended_;
};

// A work performed by the thread that waits for it or, if none does, by a thread of its own.
class SelfPerformingWork : public EndingWork {
 public:
  SelfPerformingWork(std::shared_ptr<CompletionBoard> board, const CallSite& call_site,
                     std::string thread_name);

 protected:
  void await() override;
  bool run_in_background() override;

  // Performs the operation; called once. What it throws is the operation's error.
  virtual Received perform() = 0;

  // Waits for the work's own thread, which uses the members: every destructor must call it first.
  void join() noexcept { thread_.reset(); }

 private:
  void finish();

  std::string thread_name_;
  std::atomic<bool> is_claimed_ = false;  // some thread performs it
  std::unique_ptr<RuntimeThread> thread_;
};

}  // namespace gang
