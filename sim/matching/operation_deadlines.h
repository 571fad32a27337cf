// Operations that time out.
#pragma once

#include <vector>

#include "gang/duration.h"
#include "sim/state/pending_operation.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

class Matching;
struct GangState;
struct World;

// Breaks gangs in which a member has waited too long. Whoever comes in the instant of a deadline is
// in time: all who can run then go first. Called under the engine's Guard.
class OperationDeadlines {
 public:
  OperationDeadlines(World& world, Matching& matching) noexcept;

  // The earliest deadline of all pending operations; TimePoint::max() if there are none. Of those
  // that have firm ones, see below.
  TimePoint earliest() const;

  // Breaks the gangs of operations that have reached their deadline.
  void time_out_operations();

  // Firm deadlines, for which time passes whatever is said of pending timeouts: those of monitored
  // barriers, and of members that wait for others to shrink their gang.
  TimePoint earliest_firm() const;

  // Ends the waits that have reached such a deadline.
  void end_firm();

  // A monitored barrier that a context waits in, as long as this lives.
  class MonitoredWait {
   public:
    MonitoredWait(OperationDeadlines& deadlines, PendingOperation& pending);
    ~MonitoredWait();
    MonitoredWait(const MonitoredWait&) = delete;
    MonitoredWait& operator=(const MonitoredWait&) = delete;

   private:
    OperationDeadlines& deadlines_;
    PendingOperation& pending_;
  };

 private:
  void time_out(GangState& gang, PendingOperation& pending);
  void fail_monitored_barrier(const PendingOperation& pending);
  void abort_gangs_of(RankState& rank, const GangState& broken);

  World& world_;
  Matching& matching_;
  std::vector<PendingOperation*> monitored_;  // barriers, in the order of their calls
};

}  // namespace gang::sim
