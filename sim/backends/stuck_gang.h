// The calls of one foreign gang in which a deadlock leaves its members.
#pragma once

#include <deque>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// Makes pending operations of them, which the run does not know, so that the verdict can compare
// them as it compares those of a SimGang.
class StuckGang {
 public:
  // `info` outlives this, as does what each call borrows.
  StuckGang(World& world, const GangInfo& info);

  // The call that `member` is in. Valid as long as this.
  PendingOperation* add(int member, const Collective& call);

  // The finding for the field in which `calls`, two or more, differ; without certainty.
  Finding mismatch_of(const std::vector<PendingOperation*>& calls) const;

 private:
  World& world_;
  GangState gang_;
  std::deque<Operation> operations_;
  std::deque<PendingOperation> pendings_;
};

}  // namespace gang::sim
