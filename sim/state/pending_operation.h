// An operation that a rank has posted and the engine has not finished.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "gang/operation.h"
#include "gang/work.h"
#include "sim/state/task.h"

namespace gang::sim {

class BufferGuard;
struct ArmedFault;
struct BatchEntries;
struct GangState;
struct MatchSlot;

enum class PendingStatus : std::uint8_t {
  launched,    // behind others in its rank's stream; unknown to its gang
  posted,      // waits for the other members
  mismatched,  // a message that has met one of another type or size
  complete,
  failed,  // its gang is broken
};

enum class CallForm : std::uint8_t {
  blocking,
  started,
  tested,     // started, and a test found it pending: if it ends, the test had a choice
  looked_at,  // the same, and the test did not let others run first
};

// What faults do to it.
struct PendingFaults {
  ArmedFault* corruptor = nullptr;  // for a send: changes its payload
  TimePoint read_at{0};             // its data is not read earlier (FaultKind::late_copy)
  std::int32_t corrupted_by = -1;   // the fault of its rank that changes its result
};

struct PendingExtras;

// Lives on the stack of a blocking call or in the state of a Work; stays at one address until it
// has ended. The engine's lists point to it while it is launched or posted.
struct PendingOperation {
  PendingOperation(Operation& from, GangState& of, int as_member, Task& by)
      : operation(&from), gang(&of), task(&by), member(as_member) {}
  ~PendingOperation();
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;

  Operation* operation;
  GangState* gang;
  Task* task;                             // the task that posted it
  Task* waiter = nullptr;                 // the task to wake when it ends
  MatchSlot* slot = nullptr;              // while posted, for matched kinds
  BufferGuard* guard = nullptr;           // guards a started operation's memory
  PendingOperation* batch = nullptr;      // the batch that this send or receive is part of
  std::unique_ptr<PendingExtras> extras;  // null while nobody has made any
  TimePoint posted_at{0};
  TimePoint deadline{0};       // TimePoint::max(): never
  std::uint64_t step_key = 0;  // what a Guide knows it by; 0: nobody has been told of it
  int member;                  // rank in the gang
  Received received;
  PendingStatus status = PendingStatus::posted;
  CallForm form = CallForm::blocking;

  const Collective& call() const noexcept { return operation->collective; }
  bool has_ended() const noexcept { return status >= PendingStatus::complete; }

  // Null unless it is a batch that has been expanded.
  BatchEntries* entries() const noexcept;
  const PendingFaults& faults() const noexcept;
  PendingExtras& make_extras();
};

// The sends and receives of a batch, each a separate operation.
struct BatchEntries {
  std::deque<Operation> operations;
  std::deque<PendingOperation> pendings;  // of `operations`, in the same order
  std::uint32_t left = 0;                 // that have not ended
};

// What few operations need.
struct PendingExtras {
  std::unique_ptr<BatchEntries> entries;
  PendingFaults faults;
};

inline PendingOperation::~PendingOperation() = default;

inline BatchEntries* PendingOperation::entries() const noexcept {
  return extras == nullptr ? nullptr : extras->entries.get();
}

inline const PendingFaults& PendingOperation::faults() const noexcept {
  static constexpr PendingFaults none;
  return extras == nullptr ? none : extras->faults;
}

inline PendingExtras& PendingOperation::make_extras() {
  if (extras == nullptr) extras = std::make_unique<PendingExtras>();
  return *extras;
}

}  // namespace gang::sim
