// A started operation that another thread of its rank brings to its end.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include "gang/runtime.h"
#include "gang/work.h"

namespace gang {

// What the works of one rank share: a lock, and a condition that is notified whenever one of them
// has ended, so that any of several can be waited for. Shared by the rank's gangs.
// Threads: any of the rank.
class CompletionBoard {
 public:
  explicit CompletionBoard(std::shared_ptr<Runtime> runtime);

  Runtime& runtime() const noexcept { return *runtime_; }
  std::unique_lock<RuntimeMutex> lock() const { return std::unique_lock<RuntimeMutex>(*mutex_); }
  RuntimeCondition& changed() const noexcept { return *changed_; }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::unique_ptr<RuntimeMutex> mutex_;
  std::unique_ptr<RuntimeCondition> changed_;
};

// When `timeout` from now is over; never, for no_timeout.
TimePoint deadline_after(const Runtime& runtime, Duration timeout);

// The part of a WorkState that is about waiting. Whoever performs the operation calls `end` once.
class EndingWork : public WorkState {
 public:
  explicit EndingWork(std::shared_ptr<CompletionBoard> board) noexcept;

  bool wait(std::optional<Duration> timeout) override;
  bool test() override;
  Received received() const override { return received_; }
  std::size_t wait_any(std::span<WorkState* const> works) override;
  void dropped() noexcept override;

  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  // The operation is over: failed, unless `error` is null.
  void end(std::exception_ptr error, Received received = {});

 protected:
  CompletionBoard& board() const noexcept { return *board_; }

  // Blocks until it has ended. A work that nobody performs until then performs itself here.
  virtual void await();

  // Somebody asks without blocking, or waits for others as well: from now on the work must come to
  // its end without await.
  virtual void go_on_alone() {}

  // The last handle is gone while an exception leaves the program, and the memory of the operation
  // with it: makes the operation end soon.
  virtual void abandon() noexcept {}

 private:
  void rethrow() const;

  std::shared_ptr<CompletionBoard> board_;
  std::exception_ptr error_;
  Received received_;
  std::atomic<bool> ended_ = false;
};

}  // namespace gang
