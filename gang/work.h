// A started operation.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "gang/collective.h"
#include "gang/duration.h"

namespace gang {

// Who sent what a receive got: ranks of the gang.
struct Received {
  int source_rank = no_rank;
  int tag = 0;
};

// The backend's side of a Work. Implementations translate failures into gang::Error.
class WorkState {
 public:
  virtual ~WorkState() = default;

  // Blocks until complete (true) or until `timeout` has passed (false; the operation goes on).
  // Throws the operation's error if it failed.
  virtual bool wait(std::optional<Duration> timeout) = 0;

  // Whether it is complete, without blocking; a scheduling point where it is not. Throws as wait.
  virtual bool test() = 0;

  // What a completed receive got; for anything else {no_rank, 0}.
  virtual Received received() const = 0;

  // Blocks until one of `works` (all of this backend and rank, at least one) is complete or failed
  // and returns its index, the lowest if several.
  virtual std::size_t wait_any(std::span<WorkState* const> works) = 0;

  // The last handle is gone although nobody saw the operation complete.
  virtual void dropped() noexcept = 0;
};

// Handle of a started operation. Move-only.
//
// Buffers belong to the operation from start_ until wait, test or wait_any has said that it is
// complete: until then the program neither reads an output nor writes any buffer. What a rank
// wrote before an operation is visible to every rank that the operation completes on.
// Dropping unfinished work is a finding in simulation; elsewhere the destructor waits.
// Threads: one thread at a time per Work.
class Work {
 public:
  // Complete already, with nothing to wait for.
  Work() noexcept = default;
  explicit Work(std::shared_ptr<WorkState> state) noexcept : state_(std::move(state)) {}
  Work(Work&& other) noexcept = default;
  Work& operator=(Work&& other) noexcept;
  ~Work();

  // Blocks until the operation is complete. Throws GangError if it failed (every time it is asked).
  void wait();

  // Blocks for at most `timeout` (> 0, else InvalidArgument): true when complete, false when the
  // time has passed first; the operation goes on and may be waited for again.
  bool wait(Duration timeout);

  // Whether the operation is complete; never blocks. Throws as wait.
  bool test();

  // Who sent, for a completed receive. Throws InvalidOperation before completion.
  Received received() const;

  // Blocks until every one is complete; throws the first error in list order, after all have ended.
  static void wait_all(std::span<Work> works);

  // Blocks until at least one is complete or failed and returns its index (the lowest, if several);
  // wait() on it then returns or throws at once. Throws InvalidArgument for an empty list.
  static std::size_t wait_any(std::span<Work> works);

 private:
  void release() noexcept;

  std::shared_ptr<WorkState> state_;  // null: complete
  bool observed_ = false;             // the program has seen it end
};

}  // namespace gang
