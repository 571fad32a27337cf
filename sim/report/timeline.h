// In which operation every rank was, from when to when: the tail of a run, bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"

namespace gang::sim {

// How an operation ended for a context.
enum class SliceStatus : std::uint8_t {
  complete,
  failed,
  pending,  // it had not ended when the run was over
};

std::string_view to_string(SliceStatus status) noexcept;

// What was called, whatever the gang and the sequence number.
struct TimelineCall {
  std::string operation;  // "all_reduce"
  std::string arguments;  // "sum f32[1024]", "f32[4] to rank 1 tag 7"; may be empty
  std::string location;   // "train.cc:41"

  friend bool operator==(const TimelineCall&, const TimelineCall&) = default;
};

// An operation in the life of a context. Steps are logical time: an operation begins one step after
// what its context did before, and ends at the step at which the last of those that it waits for
// has called. So they are ordered as they depend on each other, also where no virtual time passes.
// Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978.
struct TimelineSlice {
  std::uint32_t call = 0;  // index into Timeline::calls
  std::uint32_t gang = 0;  // index into Timeline::gangs
  std::uint64_t sequence_number = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;  // of a pending one: the last step of the run
  TimePoint start{0};
  TimePoint end{0};  // of a pending one: the end of the run
  SliceStatus status = SliceStatus::pending;

  friend bool operator==(const TimelineSlice&, const TimelineSlice&) = default;
};

// How a context ended.
enum class LaneEnd : std::uint8_t {
  none,      // it had not ended when the run was over
  returned,  // its program, or its function, returned
  failed,    // with an exception
};

std::string_view to_string(LaneEnd end) noexcept;

// The operations of a context, or of several that called the same ones: a slice then has the gang,
// peers, steps and times of the first rank.
struct TimelineLane {
  std::vector<int> ranks;  // of the root gang, ascending, never empty
  std::string context;     // "" for the rank's program, else the name of its further context
  std::vector<TimelineSlice> slices;  // in the order of the calls
  std::uint64_t left_out = 0;         // earlier operations of each rank that are not kept
  LaneEnd end = LaneEnd::none;

  friend bool operator==(const TimelineLane&, const TimelineLane&) = default;
};

// A value; a function of program, options and seed.
struct Timeline {
  std::vector<std::string> gangs;  // labels, "dp[0,2]"
  std::vector<TimelineCall> calls;
  std::vector<TimelineLane> lanes;  // by rank
  std::uint64_t lanes_left_out = 0;
  std::uint64_t last_step = 0;
  TimePoint end{0};  // of the run
  // Of each of Report::faults, in their order: the last step that its rank had begun when it first
  // happened; 0: none yet.
  std::vector<std::uint64_t> fault_steps;

  bool empty() const noexcept { return lanes.empty(); }

  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// So many lanes are kept at most; up to so many contexts have one each.
inline constexpr std::size_t most_lanes = 512;
inline constexpr std::size_t most_ungrouped_lanes = 16;

nlohmann::json to_json(const Timeline& timeline);
Timeline timeline_from_json(const nlohmann::json& json);  // throws InvalidArgument naming the field

}  // namespace gang::sim
