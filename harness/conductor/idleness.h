// How long a process has done nothing, as seen from outside.
#pragma once

#include <chrono>
#include <cstdint>

#include "gang/duration.h"
#include "harness/conductor/rank_process.h"

namespace gang::harness {

// Looks at a process from time to time. It does nothing if all its threads, and the processes that
// it has started, together use less than 5 % of a processor and none is seen running, or waiting
// for a processor or a disk, twice in a row: between two sleeps of a loop, one may be. Of the time
// between two looks, 1.5 s count at most: a machine that was suspended says nothing of its
// processes.
class Idleness {
 public:
  using Clock = std::chrono::steady_clock;

  // `process` is borrowed; while its number is not known, it works. `thread` is the one that is
  // asked whether it sleeps; 0: the main one.
  Idleness(const RankProcess& process, pid_t thread) : process_(process), thread_(thread) {}

  // Looks at it, unless the last look, or the beginning, was less than `interval` before `now`.
  void look(Clock::time_point now, Duration interval);

  // For how long it has done nothing, as of the last look: at all, and except sleep until a time
  // that it knows.
  Duration in_all() const noexcept { return last_look_ - begun_; }
  Duration without_sleep() const noexcept { return last_look_ - awake_since_; }

 private:
  const RankProcess& process_;
  pid_t thread_;
  bool has_looked_ = false;
  bool was_running_ = false;
  std::uint64_t ticks_ = 0;  // when it was last seen to work
  Clock::time_point last_look_ = Clock::now();
  Clock::time_point begun_ = last_look_;
  Clock::time_point awake_since_ = last_look_;
};

}  // namespace gang::harness
