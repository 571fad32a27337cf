// What each rank called, in order: the tail of a run, bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/report/timeline.h"

namespace gang::sim {

// One call of a rank's program.
struct RecordedCall {
  std::uint32_t call = 0;  // index into CallHistories::calls
  std::uint32_t gang = 0;  // index into CallHistories::gangs
  std::uint64_t sequence_number = 0;
  SliceStatus status = SliceStatus::pending;
};

// The calls of a rank's program, without those of its further contexts.
struct CallHistory {
  std::vector<RecordedCall> calls;  // in their order
  std::uint64_t left_out = 0;       // earlier calls that are not kept
  LaneEnd end = LaneEnd::none;
};

struct RecordedGang {
  GangLabel label;
  std::shared_ptr<const std::vector<int>> members;  // root ranks, by rank in the gang
};

// A value, made with the timeline: that is for people, and leaves out what does not fit on a page.
struct CallHistories {
  std::vector<RecordedGang> gangs;  // by GangState::index; the label of an unused one is empty
  std::vector<TimelineCall> calls;  // they differ in their arguments, peer or place
  std::vector<CallHistory> ranks;   // by root rank
};

}  // namespace gang::sim
