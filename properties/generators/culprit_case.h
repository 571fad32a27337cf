// Programs that all ranks share, in which one or two ranks leave the others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/law.h"

namespace gang::properties {

enum class SharedCallKind : std::uint8_t {
  all_reduce,
  all_gather,
  barrier,
  broadcast,          // of a root of each gang's own
  uneven_all_to_all,  // every pair of ranks has a count of its own
  ring,               // a batch: to the next member, and from the one before
  pass_on,            // a send to the next member and a receive from the one before, not in a ring
};

// Who makes a call.
enum class Makers : std::uint8_t {
  all,
  last_stage,  // gangs that are last along the second axis
};

// A call in the program of all ranks, on the gang that each has of an axis.
struct SharedCall {
  SharedCallKind kind = SharedCallKind::barrier;
  int gang = 0;         // 0: root; 1 to 3: an axis
  int line = 1;         // calls may share one
  int count = 1;        // elements
  bool varies = false;  // the count is another one on each gang
  int tag = 0;          // of its messages
  Makers makers = Makers::all;

  friend bool operator==(const SharedCall&, const SharedCall&) = default;
};

enum class Slip : std::uint8_t {
  skips,
  adds,
  swaps,
  other_gang,
  other_count,
  other_tag,  // of messages that are passed on
  returns,
  throws
};

// What one rank does otherwise, once.
struct Culprit {
  int rank = 0;
  Slip slip = Slip::skips;
  int call = 0;       // index; for swaps, it and the next one
  int iteration = 0;  // when
  int gang = 0;       // adds, other_gang: which
  bool on_own_line = false;

  friend bool operator==(const Culprit&, const Culprit&) = default;
};

struct CulpritCase {
  std::array<int, 3> axes = {1, 1, 1};  // sizes, the innermost first
  std::vector<SharedCall> calls;
  int iterations = 1;
  std::vector<Culprit> culprits;  // of different ranks
  std::uint64_t schedule = 0;     // 0: round robin; else the seed of a random one

  int world() const noexcept { return axes[0] * axes[1] * axes[2]; }
  friend bool operator==(const CulpritCase&, const CulpritCase&) = default;
};

// The names of the gangs; the file of the call sites; the line of a slip on its own line.
inline constexpr std::array gang_names = {"root", "tp", "pp", "dp"};
inline constexpr const char* culprit_file = "shared.py";
int own_line(const Culprit& culprit) noexcept;

// Lines at which the culprit leaves the others, or at which the others do what it does not do.
std::vector<int> lines_of(const CulpritCase& one, const Culprit& culprit);

// Whether so much is called after a slip that it is no longer recorded at the end.
bool is_far_behind(const CulpritCase& one);

CulpritCase generate_culprit(Draw& draw);
CulpritCase generate_two_culprits(Draw& draw);
std::string to_text(const CulpritCase& one);
std::vector<CulpritCase> shrinks(const CulpritCase& one);

}  // namespace gang::properties
