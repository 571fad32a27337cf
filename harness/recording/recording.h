// What all ranks of a job called, as far as their dumps tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gang/recording/call_table.h"
#include "harness/recording/dump.h"
#include "sim/report/certainty.h"
#include "sim/report/timeline.h"

namespace gang::harness {

// A process group of the job.
struct RecordedGroup {
  std::string name;        // "tp": its description, or "group 3"
  std::string key;         // PyTorch's own name: several groups may share a description
  std::vector<int> ranks;  // root ranks, by rank in the group

  friend bool operator==(const RecordedGroup&, const RecordedGroup&) = default;
};

// A call of a rank; see DumpedCall.
struct RankCall {
  std::uint32_t group = 0;  // index into Recording::groups
  std::uint32_t call = 0;   // index into Recording::calls
  std::uint64_t sequence = 0;
  std::int64_t created_ns = 0;
  DumpedState state = DumpedState::scheduled;
  bool is_message = false;
  bool has_state = true;
  bool is_in_stream = true;
  bool has_waits = false;
  std::optional<std::uint64_t> waited = {};
};

// Whether two calls of a rank that follow each other were made as one.
inline bool are_of_one_batch(const RankCall& one, const RankCall& next) noexcept {
  return one.is_message && next.is_message && one.group == next.group &&
         one.sequence == next.sequence;
}

struct RankRecording {
  bool is_missing = true;  // there is no dump of it
  sim::LaneEnd end = sim::LaneEnd::none;
  std::uint64_t first_record = 0;      // not 0: its buffer has lost so many calls
  std::vector<RankCall> calls;         // in their order
  std::vector<std::int64_t> enqueued;  // by group: its last collective; -1: not known
};

// A value, but for its size.
struct Recording {
  std::vector<RecordedGroup> groups;
  CallTable calls;
  std::vector<RankRecording> ranks;  // by root rank
  sim::RecordedEvidence evidence;

  int world_size() const noexcept { return static_cast<int>(ranks.size()); }
};

// A dump and where it comes from.
struct NamedDump {
  std::string file;
  int rank = 0;
  Dump dump;
};

// Puts the dumps of one job together. Of several dumps of one rank, the one that was made last
// counts, and the evidence says so. Groups whose ranks no dump tells have the ranks that call them.
// `calls` is the table that the dumps were read with; `cut_off`: ranks whose dumps are.
// Throws InvalidArgument for dumps of different jobs: those whose groups have other ranks.
Recording join_dumps(std::vector<NamedDump> dumps, CallTable calls,
                     const std::vector<std::string>& cut_off = {});

}  // namespace gang::harness
