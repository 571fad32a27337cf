// The engine's state for each rank, whatever carries it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/operation_kind.h"
#include "gang/rank_locals.h"
#include "gang/recycled.h"
#include "sim/state/process_death.h"
#include "sim/state/task.h"

namespace gang {
class WorkState;
struct GangInfo;
}  // namespace gang

namespace gang::sim {

class SimGang;
class SimWork;
struct BreakCause;
struct GangState;
struct PendingOperation;

// The last operation that a rank called. The sequence number is meaningful for collectives only.
struct LastCall {
  OperationKind kind = OperationKind::barrier;
  std::uint64_t sequence_number = 0;
  CallSite call_site;
  std::shared_ptr<const GangInfo> gang;  // null: there was none
};

// The last call of a rank that none of its listed gangs tells of: on one that it has dropped, or on
// one of a foreign backend.
struct NotedCall : Recycled<NotedCall> {
  LastCall call;
  std::uint64_t at = 0;  // SimGang::last_called_at
};

// What only a few ranks need.
struct RareRankState {
  std::unique_ptr<std::deque<PendingOperation*>> stream;  // stream_ordered: launched, not complete
  std::shared_ptr<const BreakCause> last_failure;         // last seen by an operation of this rank
  std::vector<std::shared_ptr<WorkState>> detached;       // works that the program has let go of
  // While an exception leaves the program: gangs that it has dropped, and those it has broken.
  std::vector<std::shared_ptr<GangState>> abandoned;
  std::vector<std::shared_ptr<BreakCause>> broken_by_unwinding;
  std::string_view frozen_as;  // "crashed", "stalled": by a fault; else empty
  std::string_view ended_as;   // where its end is not that of its program: "recording ends"
  std::string_view exited_by;  // what ended its program in good order: "sys.exit"; else empty
  CallSite exited_at;
  std::unique_ptr<const ProcessDeath> death;  // of the process that ran its program; mostly null
};

struct RankState {
  RankLocals locals;
  SimGang* gangs = nullptr;               // head of the list of the rank's gang handles
  SimWork* works = nullptr;               // likewise for its works
  std::unique_ptr<NotedCall> noted_call;  // null if there was none
  std::int32_t rank = 0;
  bool has_returned = false;      // its program is over, normally or not
  bool has_failed = false;        // it ended with an exception, or its process did not end well
  bool has_threads = false;       // its program has started further contexts
  bool has_gang_threads = false;  // gangs of a foreign backend have
  int incarnation = 0;            // how often a fault has restarted it
  bool has_started_operations = false;  // stream_ordered: it has launched some without waiting

  const RareRankState& rare() const noexcept {
    static const RareRankState none;
    return rare_ != nullptr ? *rare_ : none;
  }
  // For writing; made on first use.
  RareRankState& make_rare() {
    if (rare_ == nullptr) rare_ = std::make_unique<RareRankState>();
    return *rare_;
  }

  // For writing; made on first use.
  NotedCall& make_noted_call() {
    if (noted_call == nullptr) noted_call = std::make_unique<NotedCall>();
    return *noted_call;
  }

  // How a program that has failed ended: "was killed by signal 9".
  std::string failure() const {
    const auto& death = rare().death;
    return death == nullptr ? "ended with an exception" : death->text();
  }

 private:
  std::unique_ptr<RareRankState> rare_;
};

}  // namespace gang::sim
