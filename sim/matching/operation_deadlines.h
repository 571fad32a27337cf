// Operations that time out.
#pragma once

#include "gang/duration.h"
#include "sim/state/pending_operation.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

class Matching;
struct GangState;
struct World;

// Breaks gangs in which a member has waited too long. Called under the engine's Guard.
class OperationDeadlines {
 public:
  OperationDeadlines(World& world, Matching& matching) noexcept;

  // The earliest deadline of all pending operations; TimePoint::max() if there are none.
  TimePoint earliest() const;

  // Breaks the gangs of operations that have reached their deadline.
  void time_out_operations();

  // The monitored barrier `pending` has reached its timeout: breaks its gang and names the missing
  // members.
  void fail_monitored_barrier(const PendingOperation& pending);

 private:
  void time_out(GangState& gang, PendingOperation& pending);
  void abort_gangs_of(RankState& rank, const GangState& broken);

  World& world_;
  Matching& matching_;
};

}  // namespace gang::sim
