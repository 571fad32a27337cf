// What the engine keeps for each rank, whatever carries it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gang/call_site.h"
#include "gang/rank_locals.h"
#include "sim/task.h"

namespace gang::sim {

class SimGang;
class SimWork;
struct BreakCause;
struct GangState;
struct PendingOperation;

// The last operation that a rank has called.
struct LastCall {
  CallSite call_site;
  std::uint64_t sequence_number = 0;
  std::uint32_t gang = no_gang;  // index
  bool is_collective = false;

  static constexpr std::uint32_t no_gang = ~std::uint32_t{0};  // none has been called
};

struct RankState {
  RankLocals locals;
  SimGang* gangs = nullptr;  // head of the list of this rank's gang handles
  SimWork* works = nullptr;  // the same of its works
  std::unique_ptr<std::deque<PendingOperation*>> stream;  // stream_ordered: launched, not complete
  std::shared_ptr<const BreakCause> told;  // the failure that an operation of this rank last met
  // While an exception leaves the program: gangs that it has let go of, and those it has broken.
  std::vector<std::shared_ptr<GangState>> abandoned;
  std::vector<std::shared_ptr<BreakCause>> broken_by_unwinding;
  LastCall last_call;
  std::int32_t rank = 0;
  bool has_returned = false;  // its program is over, in whatever way
  bool has_failed = false;    // it ended with an exception
};

inline RankLocals* Task::locals() noexcept {
  if (further) return &further->locals;
  return rank != nullptr ? &rank->locals : nullptr;
}

}  // namespace gang::sim
