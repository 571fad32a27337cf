// Which operation each rank was in, and when: the tail of a run, bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/call_text.h"
#include "gang/duration.h"
#include "gang/gang_label.h"

namespace gang::sim {

// How an operation ended for a context.
enum class SliceStatus : std::uint8_t {
  complete,
  failed,
  pending,  // it had not ended when the run ended
};

std::string_view to_string(SliceStatus status) noexcept;

// A call, without its gang and sequence number.
struct TimelineCall {
  CallText call;  // without its sequence number
  SourceLocation location;

  friend bool operator==(const TimelineCall&, const TimelineCall&) = default;
};

// Whether it is a send, a receive or a batch; these are numbered separately from collectives.
bool is_message(const TimelineCall& call) noexcept;

// One operation of a context. Steps are logical time: an operation begins one step after its
// context's previous one, and ends at the step at which the last rank it waits for has called it.
// Steps thus follow dependencies even where no virtual time passes.
// Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978.
struct TimelineSlice {
  std::uint32_t call = 0;  // index into Timeline::calls
  std::uint32_t gang = 0;  // index into Timeline::gangs
  std::uint64_t sequence_number = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;  // if pending: the last step of the run
  TimePoint start{0};
  TimePoint end{0};  // if pending: the end of the run
  SliceStatus status = SliceStatus::pending;

  friend bool operator==(const TimelineSlice&, const TimelineSlice&) = default;
};

// How a context ended.
enum class LaneEnd : std::uint8_t {
  none,      // it had not ended when the run ended
  returned,  // its program, or its function, returned
  failed,    // with an exception
};

std::string_view to_string(LaneEnd end) noexcept;

// The operations of one context, or of several that made the same calls; slices then have the
// gang, peers, steps and times of the first rank.
struct TimelineLane {
  std::vector<int> ranks;  // of the root gang, ascending, never empty
  std::string context;     // "" for the rank's program, else the name of its extra context
  std::vector<TimelineSlice> slices;  // in the order of the calls
  std::uint64_t left_out = 0;         // earlier operations of each rank that are not kept
  LaneEnd end = LaneEnd::none;

  friend bool operator==(const TimelineLane&, const TimelineLane&) = default;
};

// A value; a function of program, options and seed.
struct Timeline {
  std::vector<GangLabel> gangs;
  std::vector<TimelineCall> calls;
  std::vector<TimelineLane> lanes;  // by rank
  std::uint64_t lanes_left_out = 0;
  std::uint64_t last_step = 0;
  TimePoint end{0};  // of the run
  // For each of Report::faults, in order: the last step that its rank had begun when the fault
  // first happened; 0: none yet.
  std::vector<std::uint64_t> fault_steps;

  bool empty() const noexcept { return lanes.empty(); }

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// The most lanes that are kept; with at most this many contexts, each has its own.
inline constexpr std::size_t most_lanes = 512;
inline constexpr std::size_t most_ungrouped_lanes = 16;

}  // namespace gang::sim
