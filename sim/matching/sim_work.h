// The Work of a simulated operation.
#pragma once

#include <memory>
#include <optional>

#include "gang/owned_operation.h"
#include "gang/work.h"
#include "sim/matching/buffer_guard.h"
#include "sim/matching/matching.h"
#include "sim/state/gang_state.h"
#include "sim/state/world.h"

namespace gang::sim {

// Keeps a copy of everything that start_ borrowed, and the operation itself while it is in
// progress. The handle's destructor waits, so the engine's lists never outlive it in a running
// world.
class SimWork final : public WorkState {
 public:
  [[gnu::always_inline]] inline SimWork(const Operation& operation, GangState& gang, int rank,
                                        Task& task);
  ~SimWork() override;

  // Posts the operation to the engine, under its Guard. Throws GangError if the gang is broken. For
  // `is_plain`, see Engine::are_calls_plain.
  template <bool is_plain>
  [[gnu::always_inline]] inline void post(World& world);

  bool wait(Duration timeout) override;
  bool test() override;
  Received received() const override { return pending_.received; }
  std::size_t wait_any(std::span<WorkState* const> works) override;
  void dropped() noexcept override;
  void detached(std::shared_ptr<WorkState> self) noexcept override;

  SimWork* next_of_rank() const noexcept { return next_; }
  PendingOperation& pending() noexcept { return pending_; }

  // Whether the program knows that it has ended.
  bool is_observed() const noexcept { return is_observed_; }

  // On a stream, whoever has waited for an operation has waited for those before it: `youngest` and
  // older works of its rank.
  static void note_waited_by_order(World& world, SimWork* youngest);

  // The run is over, and this work will never be destroyed: its buffers may be touched again.
  void release_buffers() noexcept {
    if (guard_) guard_->open();
  }

  // The program of its rank has ended and this work lives on: reports a finding unless the program
  // has waited for it, or let go of it. Its buffers may be gone, so an unfinished work breaks its
  // gang.
  void outlived() noexcept;

 private:
  template <bool is_plain>
  [[gnu::always_inline]] inline void observe(World& world);
  [[gnu::noinline]] bool wait_watched(World& world, Duration timeout);
  void note_found_pending();
  // The program ends without having waited for it: what follows depends on whether it has ended.
  bool sees_end(World& world);
  // Returns an ended operation's buffers to the program.
  [[gnu::always_inline]] inline void return_buffers(World& world);
  bool wait_until(World& world, TimePoint deadline);
  void enlist();
  void delist() noexcept;

  World& world() const;  // throws InvalidOperation after the run

  GangState& gang_;  // one of whose owners it is
  OwnedOperation operation_;
  PendingOperation pending_;
  std::optional<BufferGuard> guard_;
  SimWork* next_ = nullptr;  // of the same rank, youngest first
  SimWork* previous_ = nullptr;
  bool is_enlisted_ = false;
  Task* poller_ = nullptr;  // last context to poll it in vain
  bool is_taken_ = false;
  bool is_observed_ = false;
  bool is_waited_by_order_ = false;
  bool is_detached_ = false;
};

inline SimWork::SimWork(const Operation& operation, GangState& gang, int rank, Task& task)
    : gang_(gang), operation_(operation), pending_(operation_.get(), gang, rank, task) {
  pending_.form = CallForm::started;
  if (pending_.call().kind == OperationKind::batch) [[unlikely]]
    expand_batch(pending_);
  gang.handles.add();
}

template <bool is_plain>
inline void SimWork::post(World& world) {
  if (world.options.buffer_guard) {
    guard_.emplace(pending_);
    pending_.guard = &*guard_;
  }
  if (is_plain)
    world.matching.post_inline<true>(pending_);
  else
    world.matching.post(pending_);
  if (guard_) guard_->close();
  enlist();
}

inline void SimWork::enlist() {
  SimWork*& works = pending_.task->rank->works;
  next_ = works;
  if (next_ != nullptr) next_->previous_ = this;
  works = this;
  is_enlisted_ = true;
}

// Calls outlived on every remaining work of the rank.
void report_outliving_works(RankState& rank) noexcept;

}  // namespace gang::sim
