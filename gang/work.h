// A started operation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gang/collective.h"
#include "gang/duration.h"

namespace gang {

// The source and the tag of the message that a receive got; a rank of the gang.
struct Received {
  int source_rank = no_rank;
  int tag = 0;
};

// The backend's side of a Work. Implementations turn failures into gang::Error.
class WorkState {
 public:
  virtual ~WorkState() = default;

  // Blocks until complete (true) or until `timeout` has passed, which no_timeout never does (false;
  // the operation continues). Throws the operation's error if it failed.
  virtual bool wait(Duration timeout) = 0;

  // Whether it is complete, without blocking; a scheduling point if it is not. Throws as wait.
  virtual bool test() = 0;

  // What a completed receive got; for anything else {no_rank, 0}.
  virtual Received received() const = 0;

  // Blocks until one of `works` (at least one, all of this backend and rank) is complete or has
  // failed, and returns its index; the lowest if there are several.
  virtual std::size_t wait_any(std::span<WorkState* const> works) = 0;

  // The last handle is gone, but the program has not seen the operation complete.
  virtual void dropped() noexcept = 0;

  // The program lets go of the operation, whose last handle is `self`: the backend keeps it until
  // it has ended, and its error is lost. Unless overridden, the operation is dropped.
  virtual void detached(std::shared_ptr<WorkState> self) noexcept { self->dropped(); }
};

// Handle of a started operation. Move-only.
//
// Buffers belong to the operation from start_ until wait, test or wait_any has reported that it is
// complete; until then the program must not read an output or write any buffer. What a rank wrote
// before an operation is visible to every rank on which the operation completes.
// Dropping unfinished work is a finding in simulation; elsewhere the destructor waits.
// Threads: one thread at a time per Work.
class Work {
 public:
  // Already complete; with what a receive got.
  Work() noexcept = default;
  explicit Work(Received received) noexcept : received_(received) {}
  explicit Work(std::shared_ptr<WorkState> state) noexcept : state_(std::move(state)) {}
  Work(Work&& other) noexcept = default;
  Work& operator=(Work&& other) noexcept;
  ~Work();

  // Blocks until the operation is complete. Throws GangError, at every call, if it failed.
  void wait();

  // Blocks for at most `timeout` (> 0, else InvalidArgument): true if complete, false if the time
  // passed first; then the operation continues, and the program may wait again.
  bool wait(Duration timeout);

  // Whether the operation is complete; never blocks. Throws as wait.
  bool test();

  // What a completed receive got. Throws InvalidOperation before completion.
  Received received() const;

  // Lets go of the operation without waiting; this Work is then as if complete. The operation goes
  // on, and its buffers stay its own until it has completed, which the program learns by other
  // means (an answer, a barrier); a simulation no longer guards them, and finds no unwaited_work.
  // It must complete before the rank's program ends: in simulation, its gang breaks otherwise. Its
  // error is lost; later calls on the gang fail with the same cause.
  void detach() noexcept;

  // Blocks until all are complete; throws the first error in list order, after all have ended.
  static void wait_all(std::span<Work> works);

  // Blocks until at least one is complete or has failed, and returns its index (the lowest if there
  // are several); wait() on it then ends at once. Throws InvalidArgument for an empty list.
  static std::size_t wait_any(std::span<Work> works);

 private:
  void release() noexcept;

  std::shared_ptr<WorkState> state_;  // null: complete
  Received received_;                 // without a state
  bool observed_ = false;             // whether the program has seen it end
};

}  // namespace gang
