// What the Flight Recorder of one rank has dumped, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gang/enum_names.h"

namespace gang {

// How the program of a rank ended.
enum class ProgramEnd : std::uint8_t {
  none,  // it had not ended
  returned,
  failed,  // with an exception
};

inline constexpr auto program_end_names = names_in_order<ProgramEnd>("none", "returned", "failed");

// More ranks than any job has.
inline constexpr int most_recorded_ranks = 1 << 20;

enum class DumpedState : std::uint8_t { scheduled, started, completed };

inline constexpr auto dumped_state_names =
    names_in_order<DumpedState>("scheduled", "started", "completed");

// A process group as its rank knows it.
struct DumpedGroup {
  std::string name;         // "3"
  std::string description;  // "mesh_tp"; "undefined" or "default_pg" where nobody named it
  std::vector<int> ranks;   // root ranks in the order of the group; empty: not known
  std::optional<std::int64_t> last_enqueued;  // the number of its last collective, where known

  friend bool operator==(const DumpedGroup&, const DumpedGroup&) = default;
};

// A call of the rank. Sends and receives are numbered apart from collectives; those of one batch
// have one number.
struct DumpedCall {
  std::uint64_t record = 0;  // counts the calls of the rank, over all groups
  std::uint32_t group = 0;   // index into Dump::groups
  std::uint32_t call = 0;    // index into the CallTable; peers are ranks of the group
  std::uint64_t sequence = 0;
  std::int64_t created_ns = 0;
  DumpedState state = DumpedState::scheduled;
  bool is_message = false;
  bool has_state = true;     // else `state` says nothing: with Gloo, it stays scheduled
  bool is_in_stream = true;  // NCCL: waits for what its rank launched before
  bool has_waits = false;    // whether `waited` says something
  // Of a started call: how many calls its rank had made when it waited for this one; none: never.
  std::optional<std::uint64_t> waited = {};

  friend bool operator==(const DumpedCall&, const DumpedCall&) = default;
};

// A value.
struct Dump {
  std::optional<int> rank;            // where the dump says so
  ProgramEnd end = ProgramEnd::none;  // of the rank's program, where the dump says so
  std::string version;                // "2.4"
  std::vector<DumpedGroup> groups;
  std::vector<DumpedCall> calls;  // in their order
};

}  // namespace gang
