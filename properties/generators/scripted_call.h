// What a rank of a random world does next.
#pragma once

#include <cstdint>
#include <string>

#include "sim/simulation.h"

namespace gang::properties {

enum class ScriptedKind : std::uint8_t {
  barrier,         // on all ranks
  reduction,       // on the rank's pair, (0,1), (2,3), ..., of `count` elements
  two_reductions,  // started: on the pair, then on all ranks
  two_threads,     // the same, but blocking: the one on the pair by a thread
  gather_behind,   // on all ranks: starts a reduction, and before it ends `peer` receives from all
  test_reduction,  // on all ranks, started, tested once, then waited for
  one_gang,        // two barriers: on `peer`, one of them by a thread
  send,            // to `peer`, with `tag`, of `count` elements
  receive,         // from `peer`
  receive_any,     // from any rank, with `tag`
  test_receive,    // from `peer`, started, tested once, then waited for
  try_receive,     // the same, tested up to 3 times; of 2 elements: with yields in between
  wait_any,        // receives from `peer` and from the next rank; waits for either, then for both
  timed_wait,      // a receive from `peer`, waited for for 2 ms, then without limit
  signal,          // waits 2 ms for a thread of its own, which notifies it after `count` ms
  sleep,           // for `count` ms
  monitored,       // a barrier on all ranks, each of which waits 2 ms for the others
  broken_barrier,  // aborts the pair
  shrink           // shrinks the world, within an hour or, of 2 elements, 2 ms; then a barrier
};

struct ScriptedCall {
  static constexpr int most = 4;  // of `count`

  ScriptedKind kind = ScriptedKind::barrier;
  int peer = 0;  // modulo the world
  int tag = 0;
  int count = 1;

  friend bool operator==(const ScriptedCall&, const ScriptedCall&) = default;
};

// Makes the call in the program of `rank`, whose pair is `pair`. Returns what the rank saw that may
// depend on the schedule, else 0.
int perform(const ScriptedCall& call, sim::SimulatedRank& rank, Gang& pair, CallSite site);

// "receive from 1 tag 1 of 2".
std::string to_text(const ScriptedCall& call);

}  // namespace gang::properties
