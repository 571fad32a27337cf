// What the engine keeps for each rank, whatever carries it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gang/rank_locals.h"
#include "sim/task.h"

namespace gang::sim {

class SimGang;
class SimWork;
struct BreakCause;
struct GangState;
struct PendingOperation;

struct RankState {
  RankLocals locals;
  SimGang* gangs = nullptr;  // head of the list of this rank's gang handles
  SimWork* works = nullptr;  // the same of its works
  std::unique_ptr<std::deque<PendingOperation*>> stream;  // stream_ordered: launched, not complete
  std::shared_ptr<const BreakCause> told;  // the failure that an operation of this rank last met
  // While an exception leaves the program: gangs that it has let go of, and those it has broken.
  std::vector<std::shared_ptr<GangState>> abandoned;
  std::vector<std::shared_ptr<BreakCause>> broken_by_unwinding;
  std::uint32_t any_receives = 0;  // posted receives from any source
  std::int32_t rank = 0;
  bool has_returned = false;  // its program is over, in whatever way
  bool has_failed = false;    // it ended with an exception
};

inline RankLocals* Task::locals() noexcept {
  if (further) return &further->locals;
  return rank != nullptr ? &rank->locals : nullptr;
}

}  // namespace gang::sim
