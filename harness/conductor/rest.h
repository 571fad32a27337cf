// Whether a process can go on by itself.
#pragma once

#include <cstdint>

#include "harness/conductor/rank_process.h"

namespace gang::harness {

enum class Stillness : std::uint8_t {
  none,    // one of its threads works, as far as is known
  dozing,  // all wait, and one of them for our answer; time or somebody else may wake the others
  at_rest  // all wait for each other or for our answers
};

// What the threads of a process wait for, as Linux shows it. At rest they wait without a timeout,
// for locks, conditions or joins of the same process (private futexes), or for answers to calls: so
// they stay until one of them is answered, unless somebody sends a signal. Who catches SIGALRM or
// SIGCHLD only dozes: a timer may wake it, or the end of a child. `thread`, which should speak, is
// looked at first, and makes no call; 0: the main one.
//
// None where the system does not tell. A process that is several ranks is never at rest, and dozes
// by what is known of the threads of this one.
Stillness stillness_of(const RankProcess& process, pid_t thread = 0);

// What a thread of a process does, as Linux shows it.
enum class Activity : std::uint8_t {
  works,  // or waits for a disk
  waits,  // for something else, or for some time
  ended   // or cannot be seen
};

struct ThreadLook {
  Activity activity = Activity::ended;
  std::uint64_t waits = 0;  // how often it has waited so far

  friend bool operator==(const ThreadLook&, const ThreadLook&) = default;
};

ThreadLook look_at(const RankProcess& process, pid_t thread);

// Whether the thread (0: the main one) sleeps until a time that it knows, in this very moment.
bool sleeps(const RankProcess& process, pid_t thread);

inline bool is_at_rest(const RankProcess& process) {
  return stillness_of(process) == Stillness::at_rest;
}

}  // namespace gang::harness
